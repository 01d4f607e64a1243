"""Slots are dealt with exactly once, on both databases."""

import datetime as dt

import pytest

from prober.domain.campaign import Trigger
from prober.domain.job import JobRequest, JobState, MissedReason
from prober.domain.outcome import Outcome
from prober.store.database import Database
from prober.store.jobs import JobQueue
from prober.store.slots import SlotBook
from tests.support.ledger import SettableClock
from tests.support.together import together

NOON = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)
LEASE = dt.timedelta(seconds=30)


@pytest.fixture
def book(database: Database, clock: SettableClock) -> SlotBook:
    return SlotBook(database, clock)


@pytest.fixture
def queue(database: Database, clock: SettableClock) -> JobQueue:
    return JobQueue(database, clock, "one")


def a_slot(hour: int = 12, schedule: str = "often", target: str = "glm") -> JobRequest:
    time = NOON.replace(hour=hour).isoformat()
    return JobRequest(target=target, trigger=Trigger.SCHEDULE, slot=f"{schedule}/{target}/{time}")


async def test_one_of_many_replicas_queues_a_slot(book: SlotBook, queue: JobQueue):
    """Eight replicas come to twenty slots at once: each slot is one job, and one replica hears that it made it."""
    slots = [a_slot(schedule=f"schedule-{number}") for number in range(20)]
    taken = await together(book.take(slot) for slot in slots for _ in range(8))

    assert sum(job is not None for job in taken) == 20
    assert {job.request.slot for job in await queue.listed()} == {slot.slot for slot in slots}


async def test_a_slot_that_overlaps_the_last_run_is_missed(book: SlotBook, queue: JobQueue):
    """While it waits, and while it runs; once it has ended the next slot is queued."""
    await book.take(a_slot(12))
    waiting = await book.take(a_slot(13))
    job = await queue.claim(["glm"], LEASE)
    running = await book.take(a_slot(14))
    assert job is not None
    await queue.settle(job, Outcome.CLEAN)
    after = await book.take(a_slot(15))

    assert [each and (each.state, each.note) for each in (waiting, running, after)] == [
        (JobState.MISSED, "overlap"),
        (JobState.MISSED, "overlap"),
        (JobState.QUEUED, ""),
    ]


@pytest.mark.parametrize(
    "other", [a_slot(12, "oft_n"), a_slot(12, target="glm2"), a_slot(12, "ofte"), a_slot(12, "Often")]
)
async def test_other_schedules_and_targets_do_not_overlap(book: SlotBook, other: JobRequest):
    """Names that merely look alike are others."""
    await book.take(other)
    job = await book.take(a_slot(13))

    assert job is not None
    assert job.state is JobState.QUEUED


async def test_a_missed_slot_says_why_and_is_not_run(book: SlotBook, queue: JobQueue, clock: SettableClock):
    """It is final, and neither run nor missed a second time."""
    missed = await book.miss(a_slot(), MissedReason.DOWN)

    assert missed is not None
    assert (missed.state, missed.note, missed.outcome, missed.ended_at is None) == (
        JobState.MISSED,
        "down",
        None,
        False,
    )
    assert await book.miss(a_slot(), MissedReason.QUIET_HOURS) is None
    assert await book.take(a_slot()) is None
    assert await queue.claim(["glm"], LEASE) is None


async def test_what_is_no_slot_is_refused(book: SlotBook):
    """Without a slot nothing would keep two replicas from queueing the same."""
    request = JobRequest(target="glm", trigger=Trigger.SCHEDULE)
    with pytest.raises(ValueError, match="slot"):
        await book.take(request)
    with pytest.raises(ValueError, match="slot"):
        await book.miss(request, MissedReason.DOWN)


async def test_the_cursor_never_goes_back(book: SlotBook):
    """A slow replica, or one whose clock stepped back, cannot make slots due a second time."""
    assert await book.reached("often", "glm", "d1") is None
    await book.reach("often", "glm", "d1", NOON)
    await book.reach("often", "glm", "d1", NOON - dt.timedelta(hours=1))
    assert await book.reached("often", "glm", "d1") == NOON

    await book.reach("often", "glm", "d1", NOON + dt.timedelta(hours=1))
    assert await book.reached("often", "glm", "d1") == NOON + dt.timedelta(hours=1)
    assert await book.reached("often", "other", "d1") is None


async def test_another_definition_starts_anew(book: SlotBook):
    """Slots of a schedule's new times are not missed by what its old times had reached."""
    await book.reach("often", "glm", "d1", NOON)
    assert await book.reached("often", "glm", "d2") is None

    await book.reach("often", "glm", "d2", NOON - dt.timedelta(hours=1))
    assert await book.reached("often", "glm", "d2") == NOON - dt.timedelta(hours=1)
