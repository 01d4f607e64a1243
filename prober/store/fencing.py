"""Fences: a run under a job writes only while that job is its replica's own.

A replica may sleep (a stopped process, a suspended machine, a long pause of the network) past the end of its lease, be
taken over, and wake up in the middle of a write. Each claim therefore carries a number that grows, and every write
compares it in its own transaction (M. Kleppmann, "How to do distributed locking", 2016: fencing tokens).
"""

import dataclasses
from typing import Self

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.errors import LeaseLostError
from prober.domain.job import Job, JobState
from prober.store.schema.work import job_runs, jobs

LOST = "The job was taken over by another replica, or ended; what this one still had to write about it is refused."


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who may write about a job."""

    job_id: str
    holder: str
    fence: int

    @classmethod
    def of(cls, job: Job) -> Self:
        """Take it from a job as `JobQueue.claim` returned it.

        Raises:
            LeaseLostError: nobody holds it.
        """
        if job.holder is None:
            raise LeaseLostError(LOST)
        return cls(job_id=job.job_id, holder=job.holder, fence=job.fence)

    @property
    def is_held(self) -> sa.ColumnElement[bool]:
        """The condition on `jobs` that this claim still stands."""
        return sa.and_(
            jobs.c.job_id == self.job_id,
            jobs.c.holder == self.holder,
            jobs.c.fence == self.fence,
            jobs.c.state == JobState.RUNNING,
        )


async def require_claim(connection: AsyncConnection, claim: Claim, *, is_changed: bool = False) -> int:
    """Hold the job's row against a take-over until the transaction ends; return its number.

    Args:
        connection: in the transaction that writes.
        claim: what must stand.
        is_changed: the transaction changes the job itself, and holds its row against all others.

    Raises:
        LeaseLostError: the claim no longer stands.
    """
    # Shared where it may be: probes of one wave are recorded side by side. A take-over waits for all of them.
    query = sa.select(jobs.c.id).where(claim.is_held).with_for_update(read=not is_changed)
    found = (await connection.execute(query)).scalar_one_or_none()
    if found is None:
        raise LeaseLostError(LOST)
    return int(found)


async def attach_run(connection: AsyncConnection, claim: Claim, run_id: str) -> None:
    """Write down that a stored run is this claim's.

    Raises:
        LeaseLostError: the claim no longer stands.
    """
    number = await require_claim(connection, claim, is_changed=True)
    await connection.execute(sa.insert(job_runs).values(run_id=run_id, job_id=number, fence=claim.fence))
    await connection.execute(sa.update(jobs).where(jobs.c.id == number).values(run_id=run_id))
