"""Jobs -> table rows and back; the clock that leases go by; the call that wakes waiting replicas."""

import datetime as dt
import uuid
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.job import Job, JobRequest, JobState
from prober.runner.ports import Clock
from prober.store.rows import clip
from prober.store.schema.columns import NAME_LENGTH
from prober.store.schema.work import jobs

CHANNEL = "prober_jobs"
"""PostgreSQL's notification channel: "there may be something to claim, or to cancel"."""


async def time_of(connection: AsyncConnection, clock: Clock) -> dt.datetime:
    """Tell the time that all replicas share: PostgreSQL's own; on SQLite, which is one machine's, that machine's."""
    if connection.dialect.name == "postgresql":
        # Not now(): that is when the transaction began, which may have waited for a lock since.
        shared: dt.datetime = (await connection.execute(sa.select(sa.func.clock_timestamp()))).scalar_one()
        return shared
    return clock.now()


async def announce(connection: AsyncConnection) -> None:
    """Wake all replicas once this transaction is committed; on SQLite they poll."""
    if connection.dialect.name == "postgresql":
        await connection.execute(sa.select(sa.func.pg_notify(CHANNEL, "")))


async def insert_job(
    connection: AsyncConnection, request: JobRequest, now: dt.datetime, *, missed: str | None = None
) -> Job | None:
    """Store a request as QUEUED, or as MISSED for a reason; None where its slot or idempotency key is taken."""
    row = _request_row(request) | {
        "job_id": str(uuid.uuid4()),
        "state": JobState.QUEUED if missed is None else JobState.MISSED,
        "queued_at": now,
        "ended_at": None if missed is None else now,
        "attempts": 0,
        "fence": 0,
        "note": clip(missed or "", NAME_LENGTH),
        "is_cancel_requested": False,
    }
    if connection.dialect.name == "postgresql":
        added = await connection.execute(
            postgresql.insert(jobs).values(row).on_conflict_do_nothing().returning(*jobs.c)
        )
    else:
        added = await connection.execute(sqlite.insert(jobs).values(row).on_conflict_do_nothing().returning(*jobs.c))
    stored = added.one_or_none()
    return None if stored is None else job_of(stored)


def _request_row(request: JobRequest) -> dict[str, Any]:
    return {
        "target": request.target,
        "trigger": request.trigger,
        "scenarios": list(request.scenarios),
        "max_run_tokens": request.max_run_tokens,
        "requested_by": request.requested_by,
        "slot": request.slot,
        "idempotency_key": request.idempotency_key,
        "facts": dict(request.facts),
    }


def job_of(row: sa.Row[Any]) -> Job:
    """Read a row of `jobs`."""
    fields: Any = row._mapping  # noqa: SLF001 - SQLAlchemy's public name for it
    return Job(
        job_id=fields["job_id"],
        request=JobRequest(
            target=fields["target"],
            trigger=fields["trigger"],
            scenarios=tuple(fields["scenarios"]),
            max_run_tokens=fields["max_run_tokens"],
            requested_by=fields["requested_by"],
            slot=fields["slot"],
            idempotency_key=fields["idempotency_key"],
            facts=fields["facts"],
        ),
        state=fields["state"],
        queued_at=fields["queued_at"],
        attempts=fields["attempts"],
        fence=fields["fence"],
        holder=fields["holder"],
        lease_until=fields["lease_until"],
        run_id=fields["run_id"],
        ended_at=fields["ended_at"],
        outcome=fields["outcome"],
        note=fields["note"],
        is_cancel_requested=fields["is_cancel_requested"],
    )
