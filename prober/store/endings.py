"""How a job leaves its replica: settled, given back, or taken back from one that is gone."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.job import Job, JobState
from prober.domain.notice import Route
from prober.domain.outcome import Outcome
from prober.store.folding import tell_verdict
from prober.store.job_rows import job_of
from prober.store.ledger import close_as_abandoned
from prober.store.schema.columns import NAME_LENGTH
from prober.store.schema.runs import runs
from prober.store.schema.work import job_runs, jobs

MAX_ATTEMPTS = 3
"""Claims of one job. What kills three replicas in a row would kill the fourth."""

_TOLERANCE = dt.timedelta(seconds=1)

TAKEN_BACK = "its replica was not heard of within the lease"


async def close_open_run(
    connection: AsyncConnection, number: int, now: dt.datetime, routes: Sequence[Route]
) -> Outcome:
    """Close the run of a job's present claim unless it has its verdict; return its outcome, INCONCLUSIVE if no run."""
    run = await _run_of_claim(connection, number)
    if run is None:
        return Outcome.INCONCLUSIVE
    if run.ended_at is None:
        closed = await close_as_abandoned(connection, run.run_id, now)
        await tell_verdict(connection, run.run_id, routes)
        return closed
    outcome: Outcome = run.outcome
    return outcome


async def _run_of_claim(connection: AsyncConnection, number: int) -> sa.Row[Any, Any, Any] | None:
    """Find the run that the present claim opened; None where it opened none: an earlier claim's says nothing of it."""
    is_its_own = sa.and_(job_runs.c.run_id == jobs.c.run_id, job_runs.c.fence == jobs.c.fence)
    query = (
        sa.select(runs.c.run_id, runs.c.ended_at, runs.c.outcome)
        .join_from(jobs, job_runs, is_its_own)
        .join(runs, runs.c.run_id == job_runs.c.run_id)
        .where(jobs.c.id == number)
    )
    return (await connection.execute(query)).one_or_none()


async def verdict_of(connection: AsyncConnection, number: int, outcome: Outcome) -> dict[str, Any]:
    """Weigh a job's outcome against what its attempts found before they were lost; the worst wins.

    Args:
        connection: in the transaction that ends the job.
        number: the job's.
        outcome: of the attempt that ends it.

    Returns:
        Columns of `jobs`: the outcome and, where an earlier attempt's outweighs it, that attempt's run.
    """
    found = (
        sa.select(runs.c.run_id, runs.c.outcome)
        .join_from(jobs, job_runs, sa.and_(job_runs.c.job_id == jobs.c.id, job_runs.c.fence < jobs.c.fence))
        .join(runs, runs.c.run_id == job_runs.c.run_id)
        .where(jobs.c.id == number, runs.c.outcome.in_([Outcome.VIOLATION, Outcome.SUSPECT]))
        .order_by(job_runs.c.fence)
    )
    values: dict[str, Any] = {"outcome": outcome}
    for run in (await connection.execute(found)).all():
        if run.outcome.rank > values["outcome"].rank:
            values = {"outcome": run.outcome, "run_id": run.run_id}
    return values


async def give_back(
    connection: AsyncConnection, number: int, note: str, now: dt.datetime, routes: Sequence[Route]
) -> Job:
    """Queue a job anew, in its old place; end it where that was its last attempt, or a cancel was asked for."""
    outcome = await close_open_run(connection, number, now, routes)
    job = (await connection.execute(sa.select(jobs).where(jobs.c.id == number))).one()
    if job.is_cancel_requested or job.attempts >= MAX_ATTEMPTS:
        return await _end(connection, job, outcome, note, now)
    queued = (
        sa.update(jobs)
        .where(jobs.c.id == number)
        .values(state=JobState.QUEUED, holder=None, lease_until=None, note=note)
        .returning(*jobs.c)
    )
    return job_of((await connection.execute(queued)).one())


async def _end(connection: AsyncConnection, job: sa.Row[Any], outcome: Outcome, note: str, now: dt.datetime) -> Job:
    is_worn_out = not job.is_cancel_requested
    ended = (
        sa.update(jobs)
        .where(jobs.c.id == job.id)
        .values(
            state=JobState.DONE,
            ended_at=now,
            lease_until=None,
            **await verdict_of(connection, job.id, outcome),
            note=f"given up after {job.attempts} attempts: {note}"[:NAME_LENGTH] if is_worn_out else job.note,
        )
        .returning(*jobs.c)
    )
    return job_of((await connection.execute(ended)).one())


async def take_back(connection: AsyncConnection, now: dt.datetime, routes: Sequence[Route]) -> tuple[Job, ...]:
    """Take back all jobs whose lease is over; a run that had its verdict by then ends its job with it."""
    await _shorten(connection, now)
    lost = (
        sa.select(jobs)
        .where(jobs.c.state == JobState.RUNNING, jobs.c.lease_until <= now)
        .order_by(jobs.c.id)
        .with_for_update(skip_locked=True)
    )
    taken = []
    for job in (await connection.execute(lost)).all():
        run = await _run_of_claim(connection, job.id)
        taken.append(
            await give_back(connection, job.id, TAKEN_BACK, now, routes)
            if run is None or run.ended_at is None
            else await _conclude(connection, job.id, run.outcome, now)
        )
    return tuple(taken)


async def _conclude(connection: AsyncConnection, number: int, outcome: Outcome, now: dt.datetime) -> Job:
    """End a job whose run had closed by itself: only the word of it got lost."""
    done = (
        sa.update(jobs)
        .where(jobs.c.id == number)
        .values(state=JobState.DONE, ended_at=now, lease_until=None, **await verdict_of(connection, number, outcome))
        .returning(*jobs.c)
    )
    return job_of((await connection.execute(done)).one())


async def _shorten(connection: AsyncConnection, now: dt.datetime) -> None:
    """Let no lease reach further ahead than its own length: one that does was given before the clock stepped back.

    A live replica extends it as always; a dead one's is over one lease from now, not an hour later.
    """
    running = sa.select(jobs.c.id, jobs.c.lease_until, jobs.c.lease_seconds).where(jobs.c.state == JobState.RUNNING)
    for job in (await connection.execute(running)).all():
        most = now + dt.timedelta(seconds=job.lease_seconds)
        if job.lease_until > most + _TOLERANCE:
            await connection.execute(
                sa.update(jobs).where(jobs.c.id == job.id, jobs.c.lease_until > most).values(lease_until=most)
            )
