"""How jobs end or come back, and what becomes of their runs, on both databases."""

import dataclasses
import datetime as dt

import pytest

from prober.domain.campaign import Run, Trigger
from prober.domain.finding import Reason
from prober.domain.job import Job, JobRequest, JobState
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.store.database import Database
from prober.store.fencing import Claim
from prober.store.jobs import JobQueue
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from tests.support.ledger import SettableClock
from tests.support.reports import a_leak, a_report, a_run
from tests.support.stored import CHECK, ESTIMATE, PROMPT, judged

NO_TIME = dt.timedelta(0)
LEASE = dt.timedelta(seconds=30)


def a_clean_report(run: Run) -> RunReport:
    report = a_report(run=run, findings=())
    return dataclasses.replace(report, verdict=dataclasses.replace(report.verdict, outcome=Outcome.CLEAN, reasons=()))


class Bench:
    """A queue with one job and its run."""

    def __init__(self, database: Database, clock: SettableClock) -> None:
        self.database = database
        self.clock = clock
        self.queue = JobQueue(database, clock, "one")
        self.lookups = LedgerLookups(database, clock)

    async def running(self, run_id: str, lease: dt.timedelta = LEASE) -> tuple[Job, SqlLedger, Run]:
        if not await self.queue.listed():
            await self.queue.enqueue(JobRequest(target="glm", trigger=Trigger.MANUAL))
        job = await self.queue.claim(["glm"], lease)
        assert job is not None
        ledger, run = SqlLedger(self.database, self.clock, Claim.of(job)), a_run(run_id=run_id)
        await ledger.open_run(run, ESTIMATE)
        return job, ledger, run

    async def outcomes(self) -> dict[str, Outcome | None]:
        return {run.run_id: run.outcome for run in await self.lookups.runs()}


@pytest.fixture
def bench(database: Database, clock: SettableClock) -> Bench:
    return Bench(database, clock)


async def test_each_lost_attempt_stands_closed_and_the_next_is_a_new_run(bench: Bench):
    """Generators are not resumed: the second replica's run is another one, and its verdict is the job's."""
    await bench.running("first", NO_TIME)
    (back,) = await bench.queue.reclaim_lost()
    assert (back.state, back.run_id) == (JobState.QUEUED, "first")

    job, ledger, run = await bench.running("second")
    await ledger.close_run(a_report(run=run))
    done = await bench.queue.settle(job, Outcome.CLEAN)

    assert (done.run_id, done.outcome, done.attempts) == ("second", Outcome.CLEAN, 2)
    assert (await bench.outcomes())["first"] is Outcome.INCONCLUSIVE


async def test_a_verdict_that_was_stored_is_not_run_anew(bench: Bench):
    """The replica died between its run's verdict and its word to the queue: the verdict is the job's."""
    _, ledger, run = await bench.running("first", NO_TIME)
    await ledger.close_run(a_report(run=run))
    verdict = (await bench.outcomes())["first"]
    (done,) = await bench.queue.reclaim_lost()

    assert (done.state, done.outcome, done.attempts) == (JobState.DONE, verdict, 1)


async def test_a_violation_found_before_the_replica_died_stands(bench: Bench):
    """The lost run is a violation, and so is its job once it is given up."""
    for number in range(3):
        _, ledger, run = await bench.running(f"run-{number}", NO_TIME)
        await ledger.remember(run, [(CHECK, PROMPT)])
        await ledger.record(run, judged(a_leak()))
        (job,) = await bench.queue.reclaim_lost()

    assert set((await bench.outcomes()).values()) == {Outcome.VIOLATION}
    assert (job.state, job.outcome) == (JobState.DONE, Outcome.VIOLATION)


async def test_a_violation_of_a_lost_attempt_outweighs_a_clean_one(bench: Bench):
    """A leak that shows now and then: the lost attempt saw it, and the job that is run anew must not end clean."""
    _, ledger, run = await bench.running("first", NO_TIME)
    await ledger.remember(run, [(CHECK, PROMPT)])
    await ledger.record(run, judged(a_leak()))
    await bench.queue.reclaim_lost()

    job, ledger, run = await bench.running("second")
    await ledger.close_run(a_clean_report(run))
    done = await bench.queue.settle(job, Outcome.CLEAN)

    assert (done.outcome, done.run_id) == (Outcome.VIOLATION, "first")


async def test_a_claim_without_a_run_is_not_ended_by_an_earlier_one_s_verdict(bench: Bench):
    """The second replica died before its first probe: the job is queued anew, and not ended by the first one's run."""
    await bench.running("first", NO_TIME)
    await bench.queue.reclaim_lost()
    assert await bench.queue.claim(["glm"], NO_TIME) is not None
    (back,) = await bench.queue.reclaim_lost()

    assert (back.state, back.outcome, back.attempts) == (JobState.QUEUED, None, 2)


async def test_a_claim_that_failed_before_its_run_is_not_clean_by_an_earlier_one(bench: Bench):
    """What the first attempt judged clean says nothing of the second, which sent nothing: INCONCLUSIVE."""
    job, ledger, run = await bench.running("first")
    await ledger.close_run(a_clean_report(run))
    await bench.queue.give_back(job, "the database failed during its run")
    assert (await bench.outcomes())["first"] is Outcome.CLEAN

    job = await bench.queue.claim(["glm"], LEASE)
    assert job is not None
    done = await bench.queue.settle(job, None, "the prober itself failed (ValueError)")
    assert (done.state, done.outcome) == (JobState.DONE, Outcome.INCONCLUSIVE)


async def test_a_job_settled_over_an_open_run_closes_it(bench: Bench):
    """A run that could not write its own end, since the database was gone, ends with its job."""
    job, _, _ = await bench.running("first")
    done = await bench.queue.settle(job, None, "the database was gone")

    assert (done.outcome, done.note) == (Outcome.INCONCLUSIVE, "the database was gone")
    (stored,) = await bench.lookups.runs()
    assert (stored.outcome, stored.reasons) == (Outcome.INCONCLUSIVE, (Reason.INTERRUPTED,))


async def test_a_run_under_a_job_lives_by_its_lease_alone(bench: Bench):
    """However long it says nothing: closing abandoned runs leaves it to its job; others are closed."""
    await bench.running("under-job")
    plain = SqlLedger(bench.database, bench.clock)
    await plain.open_run(a_run(run_id="plain"), ESTIMATE)
    await plain.open_run(a_run(run_id="alive"), ESTIMATE)
    bench.clock.advance(7_200)
    await plain.keep_alive(a_run(run_id="alive"))

    assert await plain.close_abandoned(dt.timedelta(hours=1)) == ("plain",)
    assert await bench.outcomes() == {"under-job": None, "alive": None, "plain": Outcome.INCONCLUSIVE}
