import dataclasses
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence

import pytest
import typer

import prober.cli.demo
from prober.cli.exits import Exit
from prober.domain.campaign import Campaign, Trigger
from prober.domain.errors import LedgerError
from prober.domain.verdict import RunReport
from prober.runner.ports import Telemetry
from prober.service.demo import ACTS, Act, Played, play
from prober.telemetry.logs import Log
from prober.wiring.prober import Prober

ACT_ONE, ACT_TWO = ACTS

pytestmark = [pytest.mark.slow, pytest.mark.one_at_a_time]


def test_the_demo_finds_the_incident_and_clears_the_repaired_cluster():
    """As typed, in a pipe: act one says whose text from which request and where it begins to leak, act two is clean."""
    demo = subprocess.run(
        [sys.executable, "-m", "prober", "demo"],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert demo.returncode == Exit.CLEAN, demo.stdout + demo.stderr
    assert demo.stderr == ""
    assert "\x1b" not in demo.stdout
    words = " ".join(demo.stdout.split())
    before, after = words.split(ACT_TWO.title, maxsplit=1)
    assert "held text of tenant alpha from its request" in before
    assert "largest prompt served soundly: 681,273 tokens" in before
    assert "first length served wrongly: 681,274 tokens" in before
    assert "largest prompt served soundly: 681,273 tokens" in after
    assert "smallest prompt rejected: 681,274 tokens" in after
    assert "served wrongly" not in after
    assert after.endswith("Act one: VIOLATION, as it must be. Act two: CLEAN, as it must be.")


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(dataclasses.replace(ACT_ONE, scene=ACT_TWO.scene), id="bug off in act one"),
        pytest.param(dataclasses.replace(ACT_TWO, scene=ACT_ONE.scene), id="bug on in act two"),
    ],
)
def test_the_demo_fails_on_the_wrong_cluster(
    act: Act, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """With the bug off in act one, or on in act two, the demo says so and its exit code is not 0."""

    def play_wrongly(*, log: Log, watchers: Sequence[Telemetry]) -> AsyncIterator[Act | Played]:
        return play(log=log, watchers=watchers, acts=[act])

    monkeypatch.setattr(prober.cli.demo, "play", play_wrongly)
    with pytest.raises(typer.Exit) as ended:
        prober.cli.demo.demo()
    assert ended.value.exit_code == Exit.VIOLATION
    assert f"but it should have been {act.expected.name}" in capsys.readouterr().out


async def test_the_demo_runs_on_the_path_of_prober_run(monkeypatch: pytest.MonkeyPatch, quiet_log: Log):
    """Each act's verdict comes from the very call that `prober run` makes, with a campaign of a configuration."""
    received: list[tuple[Campaign, Trigger]] = []

    async def run(self: Prober, campaign: Campaign, trigger: Trigger) -> RunReport:
        received.append((campaign, trigger))
        raise LedgerError("seen enough")

    monkeypatch.setattr(Prober, "run", run)
    with pytest.raises(LedgerError, match="seen enough"):
        async for _step in play(log=quiet_log):
            pass
    [(campaign, trigger)] = received
    assert trigger is Trigger.MANUAL
    assert campaign.target.prefill_pool_tokens == 681_280
    assert [tenant.name for tenant in campaign.tenants] == ["alpha", "bravo", "charlie"]
