"""Leases are extended, lost ones taken back, switches read: also while the database fails."""

import asyncio
import dataclasses
import datetime as dt

import pytest
import structlog

from prober.config.schedules import ServiceSettings
from prober.domain.errors import LeaseLostError, LedgerError
from prober.domain.job import JobState
from prober.service.heart import GlobalStop, Heart
from prober.service.holdings import Cut, Held, Holdings
from prober.store.switches import Switches, Thrown
from tests.support.holding import NOW, FakeQueue, FakeSeries, a_job, until
from tests.support.ledger import SettableClock


class FakeBoard:
    """Switches in memory."""

    def __init__(self) -> None:
        self.stop: Thrown | None = None

    async def read(self) -> Switches:
        return Switches(stop=self.stop, paused={})


class Chest:
    """A heart and what it beats for."""

    def __init__(self) -> None:
        self.queue = FakeQueue()
        self.board = FakeBoard()
        self.holdings = Holdings()
        self.stop = GlobalStop()
        self.series = FakeSeries()
        self.clock = SettableClock()
        self.settings = ServiceSettings(lease_seconds=30)
        self.heart = Heart(
            self.queue,
            self.board,
            self.holdings,
            self.stop,
            settings=lambda: self.settings,
            clock=self.clock,
            watcher=self.series,
            log=structlog.get_logger(),
        )

    def hold(self) -> Held:
        job = a_job(state=JobState.RUNNING, holder="one", fence=1)
        held = Held(job, asyncio.create_task(asyncio.sleep(3_600)), self.clock.monotonic())  # type: ignore[arg-type]
        self.holdings.add(held)
        return held


@pytest.fixture
def chest() -> Chest:
    return Chest()


async def test_leases_held_are_extended_and_those_lost_elsewhere_taken_back(chest: Chest):
    """And the queue is shown as it stands."""
    held = chest.hold()
    chest.queue.waiting = [a_job(2)]
    chest.queue.taken_back = (a_job(3),)
    await chest.heart.beat_once()

    assert (chest.queue.extended, held.why_cut) == (1, None)
    assert chest.series.back == 1
    assert chest.series.seen == [({JobState.QUEUED: 1}, dt.timedelta(seconds=7))]


async def test_a_lost_lease_cuts_its_run(chest: Chest):
    """Another replica is at it by now."""
    held = chest.hold()
    chest.queue.faults = [LeaseLostError("lost")]
    await chest.heart.beat_once()

    assert held.why_cut is Cut.LOST
    await asyncio.wait([held.run])
    assert held.run.cancelled()


async def test_a_cancel_request_cuts_its_run(chest: Chest):
    """At the next beat."""
    held = chest.hold()
    chest.queue.is_cancel_requested = True
    await chest.heart.beat_once()

    assert held.why_cut is Cut.CANCELLED


async def test_a_database_that_is_gone_cuts_a_run_only_when_its_lease_is_over(chest: Chest):
    """Before that nobody else begins; after it somebody may, and two runs on one shared target are one too many."""
    held = chest.hold()
    for seconds, why in ((0, None), (29, None), (1, Cut.UNHEARD)):
        chest.clock.advance(seconds)
        chest.queue.faults = [LedgerError("gone")]
        await chest.heart.beat_once()
        assert held.why_cut is why


async def test_a_beat_that_comes_through_counts_from_when_it_was_asked(chest: Chest):
    """A lease lasts from the question on at least, never from the answer."""
    held = chest.hold()
    chest.clock.advance(29)
    await chest.heart.beat_once()
    chest.clock.advance(29)
    chest.queue.faults = [LedgerError("gone")]
    await chest.heart.beat_once()

    assert held.why_cut is None


async def test_after_an_outage_that_may_have_cost_leases_others_come_first(chest: Chest):
    """Two thirds of a lease away, and for one lease nothing is taken back: replicas alive could not extend either."""
    await chest.heart.beat_once()
    taken = []
    # The second beat comes after an outage; the others come in their time.
    for seconds in (10, 20, 10, 10, 9, 1):
        before, chest.queue.taken_back = chest.series.back, (a_job(3),)
        chest.clock.advance(seconds)
        await chest.heart.beat_once()
        taken.append(chest.series.back - before)
    assert taken == [1, 0, 0, 0, 0, 1]


async def test_who_cannot_keep_its_own_leases_takes_back_nobodys(chest: Chest):
    """What looks lost may be its own; a replica that holds nothing and cannot look around says so and goes on."""
    chest.hold()
    chest.queue.taken_back = (a_job(3),)
    chest.queue.faults = [LedgerError("gone")]
    await chest.heart.beat_once()
    assert (chest.series.back, chest.series.seen) == (0, [])

    chest.holdings.cut_all(Cut.DRAINED)
    chest.queue.faults = []
    idle = Chest()
    idle.queue.faults = [LedgerError("gone")]
    with structlog.testing.capture_logs() as logs:
        await idle.heart.beat_once()
    assert [line["event"] for line in logs] == ["database_unheard"]


async def test_the_global_stop_is_obeyed_and_shown(chest: Chest):
    """Thrown and released by anybody."""
    for thrown in (Thrown(at=NOW, by="alice"), None):
        chest.board.stop = thrown
        await chest.heart.beat_once()
        assert chest.stop.is_set() is chest.series.is_stopped is (thrown is not None)


async def test_a_heart_beats_when_asked_and_otherwise_often_enough(chest: Chest):
    """Three times per lease, and no further apart than a cancel may take."""
    assert chest.heart.seconds_apart == 5
    chest.settings = ServiceSettings(lease_seconds=3)
    assert chest.heart.seconds_apart == 1

    chest.settings = ServiceSettings(lease_seconds=3_600)
    beating = asyncio.create_task(chest.heart.beat())
    await until(lambda: len(chest.series.seen) == 1)
    chest.heart.ask()
    await until(lambda: len(chest.series.seen) == 2)
    beating.cancel()
    await asyncio.wait([beating])


async def test_beats_follow_each_other_by_themselves(chest: Chest):
    """Nobody has to ask."""
    chest.settings = ServiceSettings.model_construct(**dataclasses.asdict(_Quick()))
    beating = asyncio.create_task(chest.heart.beat())
    await until(lambda: len(chest.series.seen) >= 3)
    beating.cancel()
    await asyncio.wait([beating])


@dataclasses.dataclass
class _Quick:
    lease_seconds: float = 0.03
