"""A run under a job writes only while the job is its replica's own, on both databases."""

import asyncio
import dataclasses
import datetime as dt
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from prober.domain.campaign import Run, Trigger
from prober.domain.errors import LeaseLostError
from prober.domain.finding import Reason
from prober.domain.job import Job, JobRequest
from prober.domain.outcome import Outcome
from prober.store.database import Database
from prober.store.fencing import Claim
from prober.store.jobs import JobQueue
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from tests.support.ledger import SettableClock
from tests.support.reports import a_report, a_run
from tests.support.stored import CHECK, ESTIMATE, PROMPT, judged

LEASE = dt.timedelta(seconds=30)
Writes = tuple[Callable[[SqlLedger, Run], Coroutine[Any, Any, None]], ...]

WRITES: Writes = (
    lambda ledger, _: ledger.open_run(a_run(run_id="another"), ESTIMATE),
    lambda ledger, run: ledger.remember(run, [(dataclasses.replace(CHECK, label="late"), PROMPT)]),
    lambda ledger, run: ledger.record(run, judged()),
    lambda ledger, run: ledger.keep_alive(run),
    lambda ledger, run: ledger.close_run(a_report(run=run)),
)
"""All that a ledger can write about a run."""


@pytest.fixture
def queue(database: Database, clock: SettableClock) -> JobQueue:
    return JobQueue(database, clock, "one")


@pytest.fixture
def fenced(database: Database, clock: SettableClock) -> Callable[[Job], SqlLedger]:
    return lambda job: SqlLedger(database, clock, Claim.of(job))


async def claimed(queue: JobQueue, lease: dt.timedelta = LEASE) -> Job:
    if not await queue.listed():
        await queue.enqueue(JobRequest(target="glm", trigger=Trigger.MANUAL))
    job = await queue.claim(["glm"], lease)
    assert job is not None
    return job


async def test_a_run_under_a_job_is_written_as_any(
    queue: JobQueue, fenced: Callable[[Job], SqlLedger], database: Database, clock: SettableClock
):
    """While the claim stands; and the job knows which run is its own from the start."""
    job = await claimed(queue)
    ledger, run = fenced(job), a_run()
    await ledger.open_run(run, ESTIMATE)
    found = await queue.find(job.job_id)
    assert found is not None
    assert found.run_id == run.run_id

    await ledger.remember(run, [(CHECK, PROMPT)])
    await ledger.record(run, judged())
    await ledger.close_run(a_report(run=run))
    done = await queue.settle(job, None)

    (stored,) = await LedgerLookups(database, clock).runs()
    assert stored.ended_at is not None
    assert done.outcome is stored.outcome


@pytest.mark.parametrize("write", WRITES, ids=["open", "remember", "record", "keep_alive", "close"])
async def test_a_lost_run_is_closed_and_written_by_nobody(
    queue: JobQueue,
    fenced: Callable[[Job], SqlLedger],
    database: Database,
    clock: SettableClock,
    write: Callable[[SqlLedger, Run], Coroutine[Any, Any, None]],
):
    """A replica that slept through its lease changes nothing of the run it lost, which stands as INCONCLUSIVE."""
    job = await claimed(queue, dt.timedelta(0))
    ledger, run = fenced(job), a_run()
    await ledger.open_run(run, ESTIMATE)
    await ledger.remember(run, [(CHECK, PROMPT)])
    await queue.reclaim_lost()
    lookups = LedgerLookups(database, clock)
    before = await lookups.runs()

    with pytest.raises(LeaseLostError):
        await write(ledger, run)

    assert await lookups.runs() == before
    (stored,) = before
    assert (stored.outcome, stored.reasons) == (Outcome.INCONCLUSIVE, (Reason.INTERRUPTED,))


async def test_writes_side_by_side_do_not_wait_for_each_other_for_ever(
    queue: JobQueue, fenced: Callable[[Job], SqlLedger], clock: SettableClock
):
    """Sixteen canaries, heartbeats and a wave of the same run at once: all stand, none deadlocks."""
    del clock
    job = await claimed(queue)
    ledger, run = fenced(job), a_run()
    await ledger.open_run(run, ESTIMATE)
    probes = [dataclasses.replace(CHECK, label=f"probe/{number}") for number in range(16)]

    async with asyncio.timeout(30):
        async with asyncio.TaskGroup() as group:
            for probe in probes:
                group.create_task(ledger.remember(run, [(probe, PROMPT)]))
            for _ in range(8):
                group.create_task(queue.extend(job, LEASE))
                group.create_task(ledger.keep_alive(run))
    assert (await queue.settle(job, None)).outcome is Outcome.INCONCLUSIVE


async def test_a_job_nobody_holds_gives_no_claim(queue: JobQueue):
    """There is nothing to fence with."""
    job = await queue.enqueue(JobRequest(target="glm", trigger=Trigger.MANUAL))

    with pytest.raises(LeaseLostError):
        Claim.of(job)
