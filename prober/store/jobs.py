"""The queue of runs: asked for, claimed, held by a lease, ended. One claiming design for SQLite and PostgreSQL.

A claim takes the oldest job of a target that has none running, by `FOR UPDATE SKIP LOCKED` on PostgreSQL and by the
immediate transaction on SQLite, and raises the job's fence. A lease that is not extended in time is lost: its run is
closed as INCONCLUSIVE and the job queued anew, a bounded number of times.
"""

import dataclasses
import datetime as dt
from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.errors import JobConflictError, LeaseLostError, LedgerError
from prober.domain.job import Job, JobRequest, JobState, MissedReason
from prober.domain.notice import Route
from prober.domain.outcome import Outcome
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.endings import close_open_run, give_back, take_back, verdict_of
from prober.store.fencing import LOST, Claim, attach_run, require_claim
from prober.store.job_rows import announce, insert_job, job_of, time_of
from prober.store.rows import clip
from prober.store.schema.columns import NAME_LENGTH
from prober.store.schema.work import jobs
from prober.store.standstill import end_standstills
from prober.store.switches import STOP_IS_THROWN


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """The queue at one moment."""

    counts: Mapping[JobState, int]
    """States of which there is none are missing."""
    longest_wait: dt.timedelta


class JobQueue:
    """Jobs of one database, for one replica. Every method is one transaction and raises LedgerError only.

    Args:
        database: where all replicas meet.
        clock: by which leases on SQLite go; those on PostgreSQL go by the server's.
        replica: name that stands as the holder of what is claimed here.
        routes: who is told of the verdicts of runs that are closed here.
    """

    def __init__(self, database: Database, clock: Clock, replica: str, routes: Sequence[Route] = ()) -> None:
        self._database = database
        self._routes = tuple(routes)
        self._clock = clock
        self.replica = replica

    async def enqueue(self, request: JobRequest) -> Job:
        """Queue a run; the job that is there already where slot or idempotency key (of one requester) are known.

        Raises:
            JobConflictError: the idempotency key came before with another request.
        """
        async with self._database.begin() as connection:
            added = await insert_job(connection, request, await time_of(connection, self._clock))
            if added is not None:
                await announce(connection)
                return added
            known = await _known(connection, request)
        if request.slot is None and _wants(known.request) != _wants(request):
            raise JobConflictError("this idempotency key was used before, for another request")
        return known

    async def find(self, job_id: str) -> Job | None:
        """Look one job up."""
        async with self._database.read() as connection:
            return await _find(connection, job_id)

    async def listed(
        self, *, target: str | None = None, state: JobState | None = None, limit: int = 50, before: str | None = None
    ) -> tuple[Job, ...]:
        """List jobs, newest first; `before` is the id of the last one seen."""
        query = sa.select(jobs).order_by(jobs.c.id.desc()).limit(limit)
        if target is not None:
            query = query.where(jobs.c.target == target)
        if state is not None:
            query = query.where(jobs.c.state == state)
        if before is not None:
            query = query.where(jobs.c.id < sa.select(jobs.c.id).where(jobs.c.job_id == before).scalar_subquery())
        async with self._database.read() as connection:
            return tuple(map(job_of, await connection.execute(query)))

    async def cancel(self, job_id: str, by: str) -> Job | None:
        """Cancel a queued job at once, ask the holder of a running one; None: unknown. An ended one stays as it is."""
        note = clip(f"cancelled by {by}", NAME_LENGTH)
        is_this = jobs.c.job_id == job_id
        async with self._database.begin() as connection:
            # Held first: one that is just being claimed or given back would be neither queued nor running to us.
            await connection.execute(sa.select(jobs.c.id).where(is_this).with_for_update())
            now = await time_of(connection, self._clock)
            await connection.execute(
                sa.update(jobs)
                .where(is_this, jobs.c.state == JobState.QUEUED)
                .values(state=JobState.CANCELLED, ended_at=now, note=note, is_cancel_requested=True)
            )
            asked = await connection.execute(
                sa.update(jobs)
                .where(is_this, jobs.c.state == JobState.RUNNING, ~jobs.c.is_cancel_requested)
                .values(is_cancel_requested=True, note=note)
            )
            if asked.rowcount:
                await announce(connection)
            return await _find(connection, job_id)

    async def claim(self, targets: Collection[str], lease: dt.timedelta) -> Job | None:
        """Take the oldest queued job of those targets of which no replica runs any; None: there is none.

        Nothing is claimed while the global stop is thrown.
        """
        async with self._database.begin() as connection:
            number = (await connection.execute(_next_of(targets))).scalar_one_or_none()
            if number is None:
                return None
            now = await time_of(connection, self._clock)
            taken = (
                sa.update(jobs)
                .where(jobs.c.id == number)
                .values(
                    state=JobState.RUNNING,
                    holder=self.replica,
                    fence=jobs.c.fence + 1,
                    attempts=jobs.c.attempts + 1,
                    lease_until=now + lease,
                    lease_seconds=lease.total_seconds(),
                    note="",
                )
                .returning(*jobs.c)
            )
            try:
                async with connection.begin_nested():
                    return job_of((await connection.execute(taken)).one())
            except IntegrityError:
                # Another job of this target began between our look and our grasp: the unique index had the last word.
                return None

    async def extend(self, job: Job, lease: dt.timedelta) -> Job:
        """Hold on to a claimed job for another lease, counted from now; tells whether a cancel was asked for.

        Raises:
            LeaseLostError: it was taken over, or has ended. Merely late is not lost, as long as nobody noticed.
        """
        async with self._database.begin() as connection:
            now = await time_of(connection, self._clock)
            extended = await connection.execute(
                sa.update(jobs)
                .where(Claim.of(job).is_held)
                .values(lease_until=now + lease, lease_seconds=lease.total_seconds())
                .returning(*jobs.c)
            )
            row = extended.one_or_none()
        if row is None:
            raise LeaseLostError(LOST)
        return job_of(row)

    async def attach(self, job: Job, run_id: str) -> None:
        """Write down which stored run is this claim's; a `SqlLedger` with the claim does so when it opens the run.

        Raises:
            LeaseLostError: the claim no longer stands.
        """
        async with self._database.begin() as connection:
            await attach_run(connection, Claim.of(job), run_id)

    async def settle(self, job: Job, outcome: Outcome | None, note: str = "") -> Job:
        """End a claimed job with its run's verdict; its run, should it still be open, is closed as INCONCLUSIVE.

        What an earlier, lost attempt found outweighs it: the worst wins.

        Args:
            job: as `claim` returned it.
            outcome: of the verdict; None: as the ledger has it, INCONCLUSIVE where there is no run.
            note: anything to add, in our words; empty keeps what is noted.

        Raises:
            LeaseLostError: the claim no longer stands.
        """
        async with self._database.begin() as connection:
            number = await require_claim(connection, Claim.of(job), is_changed=True)
            now = await time_of(connection, self._clock)
            stored = await close_open_run(connection, number, now, self._routes)
            values = {"state": JobState.DONE, "ended_at": now, "lease_until": None}
            values |= await verdict_of(connection, number, outcome or stored)
            if note:
                values["note"] = clip(note, NAME_LENGTH)
            ended = sa.update(jobs).where(jobs.c.id == number).values(values).returning(*jobs.c)
            return job_of((await connection.execute(ended)).one())

    async def give_back(self, job: Job, note: str) -> Job:
        """Let go of a claimed job before its verdict: its run is closed as INCONCLUSIVE and the job queued anew.

        Raises:
            LeaseLostError: the claim no longer stands.
        """
        async with self._database.begin() as connection:
            number = await require_claim(connection, Claim.of(job), is_changed=True)
            now = await time_of(connection, self._clock)
            given = await give_back(connection, number, clip(note, NAME_LENGTH), now, self._routes)
            await announce(connection)
            return given

    async def skip(self, job: Job, reason: MissedReason) -> Job:
        """End a claimed job that is not to be run after all as MISSED.

        Raises:
            LeaseLostError: the claim no longer stands.
        """
        async with self._database.begin() as connection:
            number = await require_claim(connection, Claim.of(job), is_changed=True)
            now = await time_of(connection, self._clock)
            values = {"state": JobState.MISSED, "ended_at": now, "lease_until": None, "note": reason.value}
            ended = sa.update(jobs).where(jobs.c.id == number).values(values).returning(*jobs.c)
            return job_of((await connection.execute(ended)).one())

    async def census(self) -> Census:
        """Count the jobs of each state and tell since when the oldest one waits."""
        count = sa.select(jobs.c.state, sa.func.count(), sa.func.min(jobs.c.queued_at)).group_by(jobs.c.state)
        async with self._database.read() as connection:
            now = await time_of(connection, self._clock)
            rows = (await connection.execute(count)).all()
        waiting = next((since for state, _, since in rows if state is JobState.QUEUED), now)
        return Census(
            counts={state: count for state, count, _ in rows},
            longest_wait=max(dt.timedelta(0), now - waiting),
        )

    async def reclaim_lost(self) -> tuple[Job, ...]:
        """Take back what replicas hold past their lease: runs closed as INCONCLUSIVE, jobs queued anew or ended.

        A replica that was paused within a transaction loses its session first, and so its locks.
        """
        await end_standstills(self._database)
        async with self._database.begin() as connection:
            now = await time_of(connection, self._clock)
            taken = await take_back(connection, now, self._routes)
            if taken:
                await announce(connection)
            return taken


def _next_of(targets: Collection[str]) -> sa.Select[tuple[int]]:
    """The oldest queued job among the first of each target: two claimers never want two of one target."""
    running = jobs.alias("running")
    is_busy = sa.exists().where(running.c.target == jobs.c.target, running.c.state == JobState.RUNNING)
    first = (
        sa.select(sa.func.min(jobs.c.id))
        .where(jobs.c.state == JobState.QUEUED, jobs.c.target.in_(sorted(targets)), ~is_busy, ~STOP_IS_THROWN)
        .group_by(jobs.c.target)
    )
    return (
        sa.select(jobs.c.id)
        .where(jobs.c.id.in_(first), jobs.c.state == JobState.QUEUED)
        .order_by(jobs.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )


async def _find(connection: AsyncConnection, job_id: str) -> Job | None:
    row = (await connection.execute(sa.select(jobs).where(jobs.c.job_id == job_id))).one_or_none()
    return None if row is None else job_of(row)


async def _known(connection: AsyncConnection, request: JobRequest) -> Job:
    """Find the job that has the request's slot or, with none, its key."""
    if request.slot is not None:
        is_same = jobs.c.slot == request.slot
    else:
        same_key = jobs.c.idempotency_key == request.idempotency_key
        is_same = sa.and_(jobs.c.requested_by == request.requested_by, same_key)
    row = (await connection.execute(sa.select(jobs).where(is_same))).one_or_none()
    if row is None:
        raise LedgerError("The queue refused a request that no known one stands for.")
    return job_of(row)


def _wants(request: JobRequest) -> tuple[object, ...]:
    """What two requests of one key must agree in."""
    return request.target, request.trigger, request.scenarios, request.max_run_tokens, dict(request.facts)
