"""Another configuration in the place of the one in force."""

import io
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from prober.service.reload import Configuration
from prober.telemetry.logs import LogFormat, open_log
from prober.wiring.campaigns import read_settings, redactor_for
from prober.wiring.prober import open_prober
from prober.wiring.system import SystemClock
from tests.support.command import CREDENTIALS, Workplace, workplace


class Desk:
    """A configuration in force, its log, and what it told."""

    def __init__(self, place: Workplace) -> None:
        self.place = place
        self.stream = io.StringIO()
        self.told: list[list[str]] = []
        settings = read_settings(place.config, CREDENTIALS).settings
        self.redactor = redactor_for(settings)
        self.log = open_log(self.stream, form=LogFormat.JSON, redactor=self.redactor, now=SystemClock().now)
        self.settings = settings
        self.configuration: Configuration

    def change(self, **changes: object) -> None:
        document = json.loads(self.place.config.read_text())
        document["targets"]["hostile"].update(changes.pop("target", {}))
        self.place.config.write_text(json.dumps(document | changes))

    async def reload(self) -> bool:
        return await self.configuration.reload(lambda settings: self.told.append(list(settings.targets)))

    @property
    def events(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    return workplace(tmp_path).configure("http://127.0.0.1:9/v1")


@pytest.fixture
async def desk(place: Workplace) -> AsyncIterator[Desk]:
    opened = Desk(place)
    async with open_prober(opened.settings, log=opened.log) as prober:
        series = prober.metrics.service_series(opened.settings.targets)
        opened.configuration = Configuration(
            place.config, prober, log=opened.log, redactor=opened.redactor, series=series
        )
        yield opened


async def test_a_sound_configuration_is_taken(desk: Desk):
    """By those who ask from then on; who asked before keeps what it had; new targets have their series at 0."""
    before = desk.configuration.bench
    document = json.loads(desk.place.config.read_text())
    desk.change(targets={**document["targets"], "other": document["targets"]["hostile"]})

    assert await desk.reload()
    assert list(before.targets) == ["hostile"]
    assert list(desk.configuration.bench.targets) == ["hostile", "other"]
    assert desk.told == [["hostile", "other"]]
    metrics = desk.configuration.bench.prober.metrics.text()
    assert 'prober_run_in_progress{target="other"} 0.0' in metrics
    assert 'prober_slots_queued_total{target="other"} 0.0' in metrics
    assert 'prober_reloads_total{outcome="taken"} 1.0' in metrics
    # Probes in flight are still recognised.
    assert desk.configuration.bench.prober.live is before.prober.live


async def test_a_broken_configuration_is_refused_with_every_problem(desk: Desk):
    """Each problem is a line of the log; the old configuration stays, and nobody is told."""
    before = desk.configuration.bench
    desk.change(target={"context_tokens": 0, "tenants": []}, schedules={"s": {"cron": "0 0 31 2 *"}})

    assert not await desk.reload()
    problems = [event["problem"] for event in desk.events if event["event"] == "reload_problem"]
    for words in ("context_tokens", "at least two tenants", "never fires"):
        assert any(words in problem for problem in problems)
    assert desk.configuration.bench is before
    assert desk.told == []
    assert 'prober_reloads_total{outcome="refused"} 1.0' in before.prober.metrics.text()


async def test_a_file_that_is_gone_is_refused(desk: Desk):
    """So is a canary key that is gone: nothing half-read is taken."""
    desk.change(key_file="nowhere.key")
    assert not await desk.reload()
    desk.place.config.unlink()
    assert not await desk.reload()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("database", "sqlite:///elsewhere.db"),
        ("api", {"port": 1234}),
        ("service", {"replica": "another"}),
    ],
)
async def test_what_only_a_new_process_can_take_up_is_refused(desk: Desk, key: str, value: object):
    """By its name, rather than taken by half."""
    desk.change(**{key: value})

    assert not await desk.reload()
    (problem,) = [event["problem"] for event in desk.events if event["event"] == "reload_problem"]
    assert problem.startswith(key)
    assert "restart" in problem


async def test_new_secrets_never_reach_the_log(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    """They are known to the redactor before anything of the new configuration is used."""
    monkeypatch.setenv("ALPHA_KEY", "a-credential-never-seen-before")
    assert await desk.reload()
    desk.log.warning("told", text="a-credential-never-seen-before")

    assert "never-seen-before" not in desk.stream.getvalue()
