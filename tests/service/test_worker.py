"""Jobs are claimed, run and settled, whatever happens to their runs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest
import structlog

from prober.config.schedules import ServiceSettings
from prober.domain.errors import ConfigError, LeaseLostError, LedgerError
from prober.domain.finding import Finding, Reason
from prober.domain.job import Job, MissedReason
from prober.domain.outcome import Outcome
from prober.service import worker as module
from prober.service.holdings import Cut, Holdings
from prober.service.worker import Worker, no_doubts
from prober.store.wake_ups import WakeUps
from tests.support.holding import FakeBench, FakeQueue, FakeSeries, a_job, until
from tests.support.ledger import SettableClock

SETTINGS = ServiceSettings(poll_seconds=0.05, concurrency=2, drain_seconds=0)

DOUBT = Finding(detector="self_watch", outcome=Outcome.INCONCLUSIVE, reason=Reason.SELFTEST_FAILED, message="in doubt")


class Replica:
    """A worker over a queue in memory."""

    def __init__(
        self,
        settings: ServiceSettings = SETTINGS,
        doubts: Callable[[Job], Awaitable[Sequence[Finding]]] = no_doubts,
    ) -> None:
        self.queue = FakeQueue()
        self.bench = FakeBench(settings)
        self.series = FakeSeries()
        self.holdings = Holdings()
        self.faults: list[str] = []
        self.news = 0
        self.is_stopped = False
        self.wake_ups = WakeUps()
        self.worker = Worker(
            self.queue,
            self.wake_ups,
            self.holdings,
            bench=lambda: self.bench,
            admits=self.bench.admits,
            clock=SettableClock(),
            watcher=self.series,
            log=structlog.get_logger(),
            report_fault=lambda component, error: self.faults.append(f"{component} {type(error).__name__}"),
            doubts=doubts,
            on_news=self._on_news,
            is_stopped=lambda: self.is_stopped,
        )

    def _on_news(self) -> None:
        self.news += 1

    async def told(self, count: int = 1) -> list[tuple[str, object, str]]:
        await until(lambda: len(self.queue.told) >= count and not self.holdings)
        return self.queue.told


@pytest.fixture
async def one(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Replica]:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    replica = Replica()
    task = asyncio.create_task(replica.worker.work())
    yield replica
    await replica.worker.drain(asyncio.Event())
    await asyncio.wait_for(task, 10)
    assert len(replica.holdings) == 0


async def test_a_job_is_run_and_settled_with_its_verdict(one: Replica):
    """A scheduled one moves the deadman's date."""
    one.queue.waiting = [a_job()]
    one.bench.gate.set()

    assert await one.told() == [("job-1", Outcome.CLEAN, "")]
    assert one.series.scheduled == ["glm"]
    assert one.series.held_now == 0
    assert one.faults == []


async def test_nothing_is_claimed_before_its_run_could_go_on(one: Replica):
    """The queue hears of a global stop's release before this replica does: a run begun then would end at once."""
    one.is_stopped = True
    one.queue.waiting = [a_job()]
    one.bench.gate.set()
    await asyncio.sleep(5 * SETTINGS.poll_seconds)
    assert one.queue.told == []
    one.is_stopped = False

    assert await one.told() == [("job-1", Outcome.CLEAN, "")]


async def test_as_many_run_at_once_as_configured(one: Replica):
    """The others wait for room, and get it at once."""
    one.queue.waiting = [a_job(number) for number in range(5)]
    await until(lambda: one.bench.at_work == 2)
    await asyncio.sleep(0.2)
    assert (one.bench.at_work, one.series.held_now) == (2, 2)

    one.bench.gate.set()
    assert len(await one.told(5)) == 5
    assert one.bench.most_at_once == 2


@pytest.mark.parametrize(
    ("fault", "ending"),
    [
        (LedgerError("gone"), ("job-1", "given back", "the database failed during its run")),
        (ConfigError("no scenario"), ("job-1", Outcome.INCONCLUSIVE, "cannot be run as configured: no scenario")),
        (RuntimeError("secret text"), ("job-1", None, "the prober itself failed (RuntimeError)")),
    ],
)
async def test_a_run_that_fails_is_no_job_without_an_end(one: Replica, fault: Exception, ending: tuple[object, ...]):
    """The database's trouble is tried anew; what trying cannot mend is INCONCLUSIVE; foreign texts are not noted."""
    one.queue.waiting = [a_job()]
    one.bench.fault = fault
    one.bench.gate.set()

    assert await one.told() == [ending]


@pytest.mark.parametrize(
    ("why", "ending"),
    [
        (Cut.CANCELLED, [("job-1", None, "")]),
        (Cut.DRAINED, [("job-1", "given back", "its replica was ended")]),
        (Cut.UNHEARD, [("job-1", "given back", "its replica could not reach the database")]),
        (Cut.LOST, []),
    ],
)
async def test_a_run_that_is_cut_is_told_by_why(one: Replica, why: Cut, ending: list[object]):
    """Cancelled ones are settled, drained ones queued anew, lost ones nobody's business; the first reason stands."""
    one.queue.waiting = [a_job()]
    await until(lambda: one.bench.at_work == 1)
    one.holdings.cut_all(why)
    one.holdings.cut_all(Cut.DRAINED)

    assert await one.told(len(ending)) == ending
    assert one.series.lost == (why is Cut.LOST)


async def test_a_run_whose_lease_is_lost_says_nothing_more(one: Replica):
    """Found out by the run itself, or when its end is told."""
    one.queue.waiting = [a_job(1)]
    one.bench.fault = LeaseLostError("lost")
    one.bench.gate.set()
    await until(lambda: one.series.lost == 1 and not one.holdings)

    one.bench.fault = None
    one.bench.gate.clear()
    one.queue.waiting = [a_job(2)]
    await until(lambda: one.bench.at_work == 1)
    one.queue.faults = [LeaseLostError("lost")]
    one.bench.gate.set()
    await until(lambda: one.series.lost == 2 and not one.holdings)
    assert one.queue.told == []


async def test_a_database_that_is_gone_hears_of_the_end_when_it_is_back(one: Replica):
    """Claims fail and go on; a verdict is told until it is taken."""
    one.queue.faults = [LedgerError("gone")] * 3
    await until(lambda: not one.queue.faults)
    one.queue.waiting = [a_job()]
    await until(lambda: one.bench.at_work == 1)
    one.queue.faults = [LedgerError("gone")] * 3
    one.bench.gate.set()

    assert await one.told() == [("job-1", Outcome.CLEAN, "")]


async def test_what_is_known_against_a_run_reaches_it():
    """The self-test is asked before the run begins, and after the breaker; its job is held meanwhile."""
    asked, gate = [], asyncio.Event()

    async def doubts(job: Job) -> tuple[Finding, ...]:
        asked.append(job.job_id)
        await gate.wait()
        return (DOUBT,)

    replica = Replica(doubts=doubts)
    task = asyncio.create_task(replica.worker.work())
    replica.queue.waiting = [a_job()]
    await until(lambda: asked == ["job-1"])
    assert (replica.bench.begun, len(replica.holdings)) == ([], 1)
    gate.set()
    replica.bench.gate.set()
    await replica.told()
    assert replica.bench.doubts == (DOUBT,)

    replica.bench.is_admitted = False
    replica.queue.waiting = [a_job(2)]
    await replica.told(2)
    assert asked == ["job-1"]
    await replica.worker.drain(asyncio.Event())
    await asyncio.wait_for(task, 10)


async def test_a_target_whose_breaker_is_open_is_not_probed(one: Replica):
    """Its job ends as missed, and says why."""
    one.bench.is_admitted = False
    one.queue.waiting = [a_job()]

    assert await one.told() == [("job-1", MissedReason.BREAKER, "")]
    assert one.bench.begun == []


async def test_news_reach_those_who_wait_and_the_heart(one: Replica):
    """While something runs a cancel may be the news; idle, there is none to cancel."""
    one.wake_ups.wake()
    await asyncio.sleep(0.1)
    assert one.news == 0

    one.queue.waiting = [a_job()]
    await until(lambda: one.bench.at_work == 1)
    one.wake_ups.wake()
    await until(lambda: one.news == 1)


async def test_a_fault_of_the_queues_ends_no_worker(one: Replica):
    """It is reported; the job's lease will bring it back."""
    one.queue.waiting = [a_job(1)]
    await until(lambda: one.bench.at_work == 1)
    one.queue.faults = [RuntimeError("bug")]
    one.bench.gate.set()
    await until(lambda: one.faults == ["worker RuntimeError"])

    one.queue.waiting = [a_job(2)]
    assert await one.told() == [("job-2", Outcome.CLEAN, "")]


async def test_a_drain_waits_as_long_as_it_may_and_claims_nothing():
    """Runs that end within the bound have their verdicts."""
    replica = Replica(SETTINGS.model_copy(update={"drain_seconds": 3_600}))
    task = asyncio.create_task(replica.worker.work())
    replica.queue.waiting = [a_job(1)]
    await until(lambda: replica.bench.at_work == 1)
    draining = asyncio.create_task(replica.worker.drain(asyncio.Event()))
    await asyncio.wait_for(task, 10)
    replica.queue.waiting = [a_job(2)]
    await asyncio.sleep(0.2)
    assert not draining.done()

    replica.bench.gate.set()
    await asyncio.wait_for(draining, 10)
    assert replica.queue.told == [("job-1", Outcome.CLEAN, "")]
    assert replica.bench.begun == ["job-1"]


async def test_a_drain_can_be_hurried_and_is_bounded_without_a_database(monkeypatch: pytest.MonkeyPatch):
    """Told to hurry it cuts what runs; a database that stays away cannot hold it."""
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.2)
    replica, hurry = Replica(SETTINGS.model_copy(update={"drain_seconds": 3_600})), asyncio.Event()
    task = asyncio.create_task(replica.worker.work())
    replica.queue.waiting = [a_job(1)]
    await until(lambda: replica.bench.at_work == 1)
    draining = asyncio.create_task(replica.worker.drain(hurry))
    await asyncio.sleep(0.05)
    replica.queue.faults = [LedgerError("gone")] * 100_000
    hurry.set()

    await asyncio.wait_for(draining, 5)
    await asyncio.wait_for(task, 5)
    await until(lambda: not replica.holdings)
    assert replica.bench.at_work == 0
    assert replica.queue.told == []


@pytest.mark.parametrize("drain_seconds", [0, 3_600])
async def test_a_claim_under_way_when_the_drain_begins_is_not_left_to_its_lease(drain_seconds: int):
    """It is waited for though nothing runs here; its job is queued anew, before anything of it was sent."""
    replica = Replica(SETTINGS.model_copy(update={"drain_seconds": drain_seconds}))
    replica.queue.claim_gate = asyncio.Event()
    replica.queue.waiting = [a_job(1), a_job(2)]
    task = asyncio.create_task(replica.worker.work())
    await until(lambda: replica.queue.claims == 1)
    draining = asyncio.create_task(replica.worker.drain(asyncio.Event()))
    await asyncio.sleep(0.1)
    assert not draining.done()

    replica.queue.claim_gate.set()
    await asyncio.wait_for(draining, 10)
    await asyncio.wait_for(task, 10)
    assert replica.queue.told == [("job-1", "given back", "its replica was ended")]
    assert (replica.bench.begun, replica.queue.claims, len(replica.holdings)) == ([], 1, 0)


async def test_a_drain_does_not_wait_for_ever_for_a_claim(monkeypatch: pytest.MonkeyPatch):
    """A database that never answers cannot hold it."""
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.2)
    replica = Replica()
    replica.queue.claim_gate = asyncio.Event()
    task = asyncio.create_task(replica.worker.work())
    await until(lambda: replica.queue.claims == 1)

    await asyncio.wait_for(replica.worker.drain(asyncio.Event()), 5)
    task.cancel()
    await asyncio.wait({task}, timeout=5)
    assert task.cancelled()
