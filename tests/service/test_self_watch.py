"""When the service tests itself, who waits for it, and what a failure means."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import structlog
from prometheus_client import CollectorRegistry

from prober.config.schedules import ServiceSettings
from prober.domain.campaign import Trigger
from prober.domain.errors import LedgerError
from prober.domain.finding import Reason
from prober.domain.job import Job, JobRequest
from prober.domain.outcome import Outcome
from prober.service import self_watch as module
from prober.service.self_watch import COMPONENT, SelfWatch
from prober.service.self_watch_path import StepFailedError
from prober.telemetry.self_test_series import SelfTestSeries, Step
from tests.support.holding import a_job, until
from tests.support.ledger import SettableClock


class FakePath:
    """A self-test that lasts until it is told to end."""

    def __init__(self, fault: Exception | None) -> None:
        self.step = Step.DETECTOR
        self.gate = asyncio.Event()
        self.is_cut = False
        self._fault = fault

    async def walk(self) -> None:
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.is_cut = True
            raise
        if not isinstance(self._fault, LedgerError):
            self.step = Step.LEDGER
        if self._fault is not None:
            raise self._fault


class Station:
    """A self-watch over such self-tests; `fault` is how the next one ends."""

    def __init__(self) -> None:
        self.settings = ServiceSettings()
        self.fault: Exception | None = None
        self.paths: list[FakePath] = []
        self.faults: list[tuple[str, BaseException]] = []
        self.registry = CollectorRegistry()
        self.clock = SettableClock()
        self.watch = SelfWatch(
            self._begin,
            settings=lambda: self.settings,
            clock=self.clock,
            series=SelfTestSeries(self.registry),
            log=structlog.get_logger(),
            report_fault=lambda *fault: self.faults.append(fault),
        )

    def _begin(self) -> FakePath:
        self.paths.append(FakePath(self.fault))
        return self.paths[-1]

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"prober_selftest_{name}", labels)

    async def ended(self, *waiting: asyncio.Task[object]) -> list[object]:
        """Let the self-test under way end; gives what each of those that wait was told."""
        self.paths[-1].gate.set()
        return [await asyncio.wait_for(each, 10) for each in waiting]

    def ask(self, job: Job | None = None) -> asyncio.Task[object]:
        return asyncio.create_task(self.watch.doubts(job or a_job()))

    async def passes(self) -> None:
        """Go through a whole self-test that succeeds."""
        asked, count = self.ask(), len(self.paths)
        await until(lambda: len(self.paths) > count)
        assert await self.ended(asked) == [()]


@pytest.fixture
async def station() -> AsyncIterator[Station]:
    station = Station()
    yield station
    await station.watch.aclose()


async def test_a_scheduled_run_waits_for_a_self_test(station: Station):
    """It begins no sooner than the self-test ended, and with nothing to be doubted where that succeeded."""
    asked = station.ask()
    await until(lambda: len(station.paths) == 1)
    await asyncio.sleep(0.05)
    assert not asked.done()
    station.clock.advance(4)

    assert await station.ended(asked) == [()]
    assert station.value("success") == 1
    assert station.value("duration_seconds") == 4
    assert station.value("last_success_timestamp_seconds") == station.clock.now().timestamp()


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.ROLLOUT])
async def test_runs_that_somebody_waits_for_have_none(station: Station, trigger: Trigger):
    """Nor has any where the configuration switches it off."""
    assert await station.watch.doubts(a_job(request=JobRequest(target="glm", trigger=trigger))) == ()
    station.settings = ServiceSettings(self_test=False)
    assert await station.watch.doubts(a_job()) == ()
    assert station.paths == []


async def test_runs_that_are_due_at_once_share_one(station: Station):
    """At most one at a time; a success counts for those that follow, for as long as configured."""
    asked = [station.ask(a_job(number)) for number in range(5)]
    await until(lambda: len(station.paths) == 1)
    assert await station.ended(*asked) == [()] * 5

    station.clock.advance(59)
    assert await station.watch.doubts(a_job()) == ()
    assert len(station.paths) == 1
    station.clock.advance(1)
    await station.passes()
    assert len(station.paths) == 2
    station.settings = ServiceSettings(self_test_seconds=0)
    await station.passes()
    assert len(station.paths) == 3


async def test_a_failure_is_a_doubt_that_no_clean_verdict_survives(station: Station):
    """It is INCONCLUSIVE, names the step and why, is counted by step, and is tried anew at once."""
    station.fault = StepFailedError("the run's verdict is not in the database")
    asked = [station.ask(), station.ask()]
    await until(lambda: len(station.paths) == 1)
    (first,), (second,) = await station.ended(*asked)

    assert first == second
    assert (first.outcome, first.reason, first.detector) == (Outcome.INCONCLUSIVE, Reason.SELFTEST_FAILED, COMPONENT)
    assert "step ledger: the run's verdict is not in the database" in first.message
    assert station.value("failures_total", step="ledger") == 1
    assert station.value("success") == 0
    assert station.faults == []

    station.fault = None
    await station.passes()
    assert station.value("success") == 1


async def test_a_fault_of_our_own_is_a_failure_too(station: Station):
    """It is reported as one, and its text, which may be anything, is not passed on; our own errors' words are."""
    station.fault = RuntimeError("foreign text")
    asked = station.ask()
    await until(lambda: len(station.paths) == 1)
    ((doubt,),) = await station.ended(asked)
    assert "RuntimeError" in doubt.message
    assert "foreign" not in doubt.message
    assert station.faults == [(COMPONENT, station.fault)]

    station.fault = LedgerError("The database does not answer.")
    asked = station.ask()
    await until(lambda: len(station.paths) == 2)
    ((doubt,),) = await station.ended(asked)
    assert "The database does not answer." in doubt.message


async def test_a_hang_holds_no_run_longer_than_stated(station: Station, monkeypatch: pytest.MonkeyPatch):
    """Whatever does not end: after the bound the run goes on, in doubt, and metrics tell; the next one tests anew."""
    await station.passes()
    station.settings = ServiceSettings(self_test_seconds=0)
    monkeypatch.setattr(module, "MOST_SECONDS", 0.1)
    asked = [station.ask(a_job(number)) for number in range(2)]
    told = [await asyncio.wait_for(each, 5) for each in asked]

    for (doubt,) in told:
        assert doubt.reason is Reason.SELFTEST_FAILED
        assert "step detector: did not end within 0.1 s" in doubt.message
    assert station.value("success") == 0
    assert station.value("failures_total", step="detector") == 1
    await until(lambda: station.paths[-1].is_cut)
    count = len(station.paths)
    monkeypatch.setattr(module, "MOST_SECONDS", 5)
    await station.passes()
    assert len(station.paths) == count + 1


async def test_a_lost_database_is_told_as_such_wherever_it_shows(station: Station):
    """The path's own step may be another one: the run notices first that nothing can be kept."""
    station.fault = LedgerError("The database cannot be reached.")
    asked = station.ask()
    await until(lambda: len(station.paths) == 1)
    station.paths[-1].step = Step.DETECTOR
    await station.ended(asked)
    assert station.value("failures_total", step="ledger") == 1


async def test_a_run_that_is_cut_leaves_the_self_test_to_the_others(station: Station):
    """Its job was cancelled or lost; another one waits for the same self-test."""
    cut, other = station.ask(), station.ask()
    await until(lambda: len(station.paths) == 1)
    cut.cancel()
    await asyncio.wait({cut})

    assert await station.ended(other) == [()]
    assert cut.cancelled()
    assert len(station.paths) == 1


async def test_the_service_ends_what_is_under_way(station: Station):
    """At its end no self-test goes on, and one that waits for it is not told that all was well."""
    asked = station.ask()
    await until(lambda: len(station.paths) == 1)
    await asyncio.sleep(0)
    await station.watch.aclose()

    assert station.paths[0].is_cut
    (doubt,) = await asyncio.wait_for(asked, 5)
    assert doubt.outcome is Outcome.INCONCLUSIVE
    await station.watch.aclose()
