"""Budgets are shown and the database is pruned, again and again, whatever the database does meanwhile."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable

import pytest

from prober.domain.errors import LedgerError
from prober.service import housekeeping
from prober.service.housekeeping import prune_now_and_then, refresh_now_and_then
from prober.store.retention import Pruning
from prober.store.schema.vault import Pruned
from prober.telemetry.logs import Log, LogFormat, open_log
from prober.telemetry.redaction import Redactor
from prober.wiring.system import SystemClock
from tests.support.holding import until


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REFRESH_SECONDS", "FIRST_PRUNE_SECONDS", "PRUNE_SECONDS"):
        monkeypatch.setattr(housekeeping, name, 0.001)


class Flaky:
    """A step that fails at its first call."""

    def __init__(self, *, is_above_cap: bool = False) -> None:
        self.calls = 0
        self.is_above_cap = is_above_cap

    async def __call__(self) -> Pruning:
        self.calls += 1
        if self.calls == 1:
            raise LedgerError("The database cannot be reached.")
        return Pruning(rows=dict.fromkeys(Pruned, 2), bytes_before=100, bytes_after=60, is_above_cap=self.is_above_cap)

    async def refresh(self) -> None:
        await self()


async def heard(step: Flaky, loop: Callable[[Log], Awaitable[None]]) -> list[dict[str, object]]:
    """Let a loop turn three times; what it logged."""
    told = io.StringIO()
    log = open_log(told, form=LogFormat.JSON, redactor=Redactor(), now=SystemClock().now, level=10)
    task = asyncio.ensure_future(loop(log))
    await until(lambda: step.calls >= 3)
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])
    return [json.loads(line) for line in told.getvalue().splitlines()]


async def test_budgets_are_shown_again_after_a_failure():
    """A database that is gone for a while ends nothing, and is told."""
    step = Flaky()
    lines = await heard(step, lambda log: refresh_now_and_then(step.refresh, log=log))

    assert [line["event"] for line in lines] == ["budgets_not_shown"]
    assert lines[0]["reason"] == "The database cannot be reached."


@pytest.mark.parametrize("is_above_cap", [False, True])
async def test_pruning_goes_on_after_a_failure_and_says_when_the_cap_cannot_be_kept(*, is_above_cap: bool):
    """How much went is logged; a database too large though nothing more may go is warned of, with the remedy."""
    step = Flaky(is_above_cap=is_above_cap)
    lines = await heard(step, lambda log: prune_now_and_then(step, log=log))
    events = [line["event"] for line in lines]

    assert events[:2] == ["not_pruned", "pruned"]
    assert lines[1]["rows"] == 2 * len(Pruned)
    assert ("database_above_cap" in events) is is_above_cap
