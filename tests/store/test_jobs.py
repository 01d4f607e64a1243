"""The queue's contract, on SQLite and on a real PostgreSQL."""

import asyncio
import dataclasses
import datetime as dt
from collections import Counter
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from prober.domain.campaign import Trigger
from prober.domain.errors import JobConflictError, LeaseLostError
from prober.domain.job import Job, JobRequest, JobState
from prober.domain.outcome import Outcome
from prober.store.database import Database
from prober.store.jobs import JobQueue
from prober.store.schema.work import jobs
from prober.store.switches import SwitchBoard
from tests.support.ledger import SettableClock
from tests.support.together import together

LEASE = dt.timedelta(seconds=30)
Replica = Callable[[str], JobQueue]


@pytest.fixture
def replica(database: Database, clock: SettableClock) -> Replica:
    return lambda name: JobQueue(database, clock, name)


@pytest.fixture
def queue(replica: Replica) -> JobQueue:
    return replica("one")


def a_request(target: str = "glm", **changes: object) -> JobRequest:
    return dataclasses.replace(JobRequest(target=target, trigger=Trigger.MANUAL, requested_by="alice"), **changes)


async def claimed(queue: JobQueue, target: str = "glm", lease: dt.timedelta = LEASE) -> Job:
    job = await queue.claim([target], lease)
    assert job is not None
    return job


async def test_a_request_comes_back_as_it_was_asked(queue: JobQueue):
    """Nothing of a request is lost on its way through the database."""
    asked = a_request(
        trigger=Trigger.ROLLOUT,
        scenarios=("baseline", "rollout"),
        max_run_tokens=3_000_000_000,
        idempotency_key="deploy-1",
        facts={"build": "b7", "commit": "0a1b2c"},
    )
    job = await queue.enqueue(asked)

    assert job.request == asked
    assert (job.state, job.attempts, job.fence, job.holder) == (JobState.QUEUED, 0, 0, None)
    assert await queue.find(job.job_id) == job
    assert await queue.find("unknown") is None


async def test_every_job_has_one_winner(replica: Replica):
    """Eight replicas that grasp at once for twenty jobs: each is claimed exactly once."""
    targets = [f"target-{number}" for number in range(20)]
    for target in targets:
        await replica("asker").enqueue(a_request(target))

    async def grasp(name: str) -> list[str]:
        won, misses = [], 0
        while misses < 3:
            job = await replica(name).claim(targets, LEASE)
            misses += job is None
            if job is not None:
                assert job.holder == name
                won.append(job.job_id)
            await asyncio.sleep(0)
        return won

    won = await together(grasp(f"replica-{number}") for number in range(8))
    counts = Counter(job_id for each in won for job_id in each)

    assert len(counts) == 20
    assert set(counts.values()) == {1}


async def test_one_target_is_probed_by_one_run_at_a_time(replica: Replica):
    """Eight replicas, one target: one of them runs, and the next job's turn comes when it has ended."""
    for _ in range(4):
        await replica("asker").enqueue(a_request())

    claims = await together(replica(f"replica-{number}").claim(["glm"], LEASE) for number in range(8))
    (first,) = [job for job in claims if job is not None]

    assert await replica("other").claim(["glm"], LEASE) is None
    await replica(first.holder or "").settle(first, Outcome.CLEAN)
    second = await claimed(replica("other"))
    assert second.job_id != first.job_id


async def test_jobs_are_claimed_in_their_order_whatever_the_clock_says(queue: JobQueue, clock: SettableClock):
    """The oldest first; a clock that stepped back an hour puts nobody before it."""
    first = await queue.enqueue(a_request())
    clock.advance(-3_600)
    await queue.enqueue(a_request())

    assert (await claimed(queue)).job_id == first.job_id


async def test_only_wanted_targets_are_claimed(queue: JobQueue):
    """A replica runs what its own configuration knows."""
    await queue.enqueue(a_request("elsewhere"))

    assert await queue.claim(["glm"], LEASE) is None
    assert await queue.claim([], LEASE) is None
    assert (await claimed(queue, "elsewhere")).request.target == "elsewhere"


async def test_a_slot_is_queued_once(replica: Replica):
    """However many replicas come to it, at once."""
    slot = a_request(slot="nightly/glm/2026-09-01T12:00:00+00:00", trigger=Trigger.SCHEDULE)
    jobs = await together(replica(f"replica-{number}").enqueue(slot) for number in range(8))

    assert len({job.job_id for job in jobs}) == 1
    assert len(await replica("one").listed()) == 1


async def test_an_idempotency_key_names_one_request_of_one_requester(queue: JobQueue):
    """The same again is the first one's job; another request is a conflict; another requester's key is its own."""
    first = await queue.enqueue(a_request(idempotency_key="k", facts={"build": "1"}))

    assert await queue.enqueue(a_request(idempotency_key="k", facts={"build": "1"})) == first
    with pytest.raises(JobConflictError):
        await queue.enqueue(a_request(idempotency_key="k", facts={"build": "2"}))
    other = await queue.enqueue(a_request(idempotency_key="k", requested_by="bob"))
    assert other.job_id != first.job_id


async def test_a_claim_raises_the_fence(queue: JobQueue):
    """Each claim has a number of its own, and counts as an attempt."""
    await queue.enqueue(a_request())
    first = await claimed(queue)
    await queue.give_back(first, "drained")
    second = await claimed(queue)

    assert (first.fence, first.attempts) == (1, 1)
    assert (second.fence, second.attempts) == (2, 2)
    assert second.state is JobState.RUNNING


async def test_a_lease_that_ran_out_is_taken_back_and_its_holder_refused(replica: Replica):
    """Whoever slept through its lease finds all its words refused, and the new holder's stand."""
    one, two = replica("one"), replica("two")
    await one.enqueue(a_request())
    lost = await claimed(one, lease=dt.timedelta(0))

    (back,) = await two.reclaim_lost()
    assert (back.state, back.holder, back.job_id) == (JobState.QUEUED, None, lost.job_id)
    taken = await claimed(two)

    assert taken.fence > lost.fence
    for attempt in (
        lambda: one.extend(lost, LEASE),
        lambda: one.attach(lost, "run"),
        lambda: one.settle(lost, Outcome.CLEAN),
        lambda: one.give_back(lost, "late"),
    ):
        with pytest.raises(LeaseLostError):
            await attempt()
    assert (await two.settle(taken, Outcome.SUSPECT)).outcome is Outcome.SUSPECT


async def test_one_name_on_two_replicas_is_told_apart_by_the_fence(replica: Replica):
    """A restarted process has its predecessor's name, and not its predecessor's claims."""
    await replica("one").enqueue(a_request())
    before = await claimed(replica("one"), lease=dt.timedelta(0))
    await replica("one").reclaim_lost()
    await claimed(replica("one"))

    with pytest.raises(LeaseLostError):
        await replica("one").settle(before, Outcome.CLEAN)


async def test_a_lease_in_time_is_not_taken(replica: Replica):
    """Extended leases hold; a late one holds too until somebody noticed."""
    one, two = replica("one"), replica("two")
    await one.enqueue(a_request())
    job = await claimed(one, lease=dt.timedelta(0))
    extended = await one.extend(job, LEASE)

    assert await two.reclaim_lost() == ()
    assert extended.lease_until is not None
    assert job.lease_until is not None
    assert extended.lease_until > job.lease_until


async def test_attempts_are_bounded(queue: JobQueue):
    """A job that no replica survives ends as INCONCLUSIVE, and says so."""
    await queue.enqueue(a_request())
    for _ in range(3):
        await claimed(queue, lease=dt.timedelta(0))
        (job,) = await queue.reclaim_lost()

    assert (job.state, job.outcome, job.attempts) == (JobState.DONE, Outcome.INCONCLUSIVE, 3)
    assert "3 attempts" in job.note
    assert await queue.claim(["glm"], LEASE) is None


async def test_a_queued_job_is_cancelled_at_once(queue: JobQueue):
    """It never runs; it says who did it; doing it again changes nothing."""
    asked = await queue.enqueue(a_request())
    cancelled = await queue.cancel(asked.job_id, "bob")

    assert cancelled is not None
    assert (cancelled.state, cancelled.note, cancelled.outcome) == (JobState.CANCELLED, "cancelled by bob", None)
    assert await queue.claim(["glm"], LEASE) is None
    assert await queue.cancel(asked.job_id, "carol") == cancelled
    assert await queue.cancel("unknown", "bob") is None


async def test_a_running_job_hears_of_its_cancellation(queue: JobQueue):
    """Its holder sees it at the next heartbeat, and settles; given back or lost, it is not run anew."""
    await queue.enqueue(a_request())
    job = await claimed(queue)
    asked = await queue.cancel(job.job_id, "bob")
    assert asked is not None
    assert (asked.state, asked.is_cancel_requested) == (JobState.RUNNING, True)

    assert (await queue.extend(job, LEASE)).is_cancel_requested
    ended = await queue.give_back(job, "drained")
    assert (ended.state, ended.outcome, ended.note) == (JobState.DONE, Outcome.INCONCLUSIVE, "cancelled by bob")


async def test_a_job_that_is_just_given_back_is_cancelled_all_the_same(
    postgres_database: Database, clock: SettableClock
):
    """It is queued by the time its cancellation is written, and must not be run anew by whoever comes next."""
    queue = JobQueue(postgres_database, clock, "one")
    await queue.enqueue(a_request())
    job = await claimed(queue)
    async with postgres_database.begin() as connection:
        give_back = sa.update(jobs).where(jobs.c.job_id == job.job_id).values(state=JobState.QUEUED, holder=None)
        await connection.execute(give_back)
        cancelling = asyncio.create_task(queue.cancel(job.job_id, "bob"))
        await asyncio.wait([cancelling], timeout=0.5)
    cancelled = await asyncio.wait_for(cancelling, 20)

    assert cancelled is not None
    assert (cancelled.state, cancelled.note) == (JobState.CANCELLED, "cancelled by bob")


async def test_an_ended_job_is_not_cancelled(queue: JobQueue):
    """A verdict stands."""
    await queue.enqueue(a_request())
    done = await queue.settle(await claimed(queue), Outcome.VIOLATION)

    assert await queue.cancel(done.job_id, "bob") == done


async def test_jobs_are_listed_newest_first_in_pages(queue: JobQueue):
    """By target and state, from where the last page ended."""
    asked = [await queue.enqueue(a_request(target)) for target in ("a", "b", "a", "a")]

    assert [job.job_id for job in await queue.listed(limit=2)] == [asked[3].job_id, asked[2].job_id]
    assert [job.job_id for job in await queue.listed(before=asked[2].job_id)] == [asked[1].job_id, asked[0].job_id]
    assert [job.job_id for job in await queue.listed(target="b")] == [asked[1].job_id]
    await queue.cancel(asked[0].job_id, "bob")
    assert [job.job_id for job in await queue.listed(state=JobState.CANCELLED)] == [asked[0].job_id]


async def test_the_global_stop_ends_all_claiming(queue: JobQueue, database: Database, clock: SettableClock):
    """While it is thrown nothing is claimed; what waits keeps its place."""
    board = SwitchBoard(database, clock)
    await queue.enqueue(a_request())
    await board.stop("alice")
    assert await queue.claim(["glm"], LEASE) is None

    await board.go_on()
    assert await queue.claim(["glm"], LEASE) is not None


async def test_on_sqlite_a_clock_stepped_back_keeps_no_lease_alive(sqlite_database: Database, clock: SettableClock):
    """A dead replica's job is taken back one lease after the step, not an hour later; a live one's is kept."""
    queue = JobQueue(sqlite_database, clock, "one")
    await queue.enqueue(a_request())
    job = await claimed(queue)
    clock.advance(-3_600)

    assert await queue.reclaim_lost() == ()
    clock.advance(20)
    await queue.extend(job, LEASE)
    clock.advance(20)
    assert await queue.reclaim_lost() == ()
    clock.advance(20)
    assert [back.job_id for back in await queue.reclaim_lost()] == [job.job_id]


async def test_on_postgres_leases_go_by_its_own_clock(postgres_database: Database, clock: SettableClock):
    """Replicas whose clocks differ by a day neither lose a lease nor keep one."""
    fast = SettableClock(clock.now() + dt.timedelta(days=1))
    one, two = JobQueue(postgres_database, clock, "one"), JobQueue(postgres_database, fast, "two")
    await one.enqueue(a_request())
    await claimed(one)

    assert await two.reclaim_lost() == ()
