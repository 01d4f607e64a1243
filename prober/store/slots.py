"""Slots of schedules: each is queued or missed exactly once, whatever the number of replicas, restarts and clocks."""

import datetime as dt

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from prober.domain.job import Job, JobRequest, JobState, MissedReason
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.job_rows import announce, insert_job, time_of
from prober.store.schema.work import jobs, schedule_cursors


class SlotBook:
    """Writes slots into the queue. Every method is one transaction and raises LedgerError only."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def take(self, request: JobRequest) -> Job | None:
        """Queue a slot, or miss it (OVERLAP) while the schedule's previous run on the target waits or runs.

        Returns:
            The job, or None where another replica came first.

        Raises:
            ValueError: the request names no slot.
        """
        # Not LIKE, to which "Nightly" and "nightly" are one on SQLite.
        of_schedule = f"{_schedule_of(request)}/{request.target}/"
        is_open = jobs.c.state.in_([JobState.QUEUED, JobState.RUNNING])
        overlapping = sa.select(
            sa.exists().where(
                is_open,
                jobs.c.target == request.target,
                sa.func.substr(jobs.c.slot, 1, len(of_schedule)) == of_schedule,
                jobs.c.slot != request.slot,
            )
        )
        async with self._database.begin() as connection:
            now = await time_of(connection, self._clock)
            is_overlapping = (await connection.execute(overlapping)).scalar_one()
            missed = MissedReason.OVERLAP.value if is_overlapping else None
            job = await insert_job(connection, request, now, missed=missed)
            if job is not None and job.state is JobState.QUEUED:
                await announce(connection)
            return job

    async def miss(self, request: JobRequest, reason: MissedReason) -> Job | None:
        """Write down that a slot was not run; None where it is known already, run or missed."""
        _schedule_of(request)
        async with self._database.begin() as connection:
            return await insert_job(connection, request, await time_of(connection, self._clock), missed=reason.value)

    async def reached(self, schedule: str, target: str, definition: str) -> dt.datetime | None:
        """Tell the latest slot that was dealt with under this definition of the schedule; None: none was."""
        query = sa.select(schedule_cursors.c.reached).where(
            schedule_cursors.c.schedule == schedule,
            schedule_cursors.c.target == target,
            schedule_cursors.c.definition == definition,
        )
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar_one_or_none()

    async def reach(self, schedule: str, target: str, definition: str, slot: dt.datetime) -> None:
        """Write down that all slots up to this one were dealt with. Under one definition it never goes back."""
        row = {"schedule": schedule, "target": target, "definition": definition, "reached": slot}
        is_news = sa.or_(schedule_cursors.c.reached < slot, schedule_cursors.c.definition != definition)
        insert = postgresql.insert if self._database.kind == "postgresql" else sqlite.insert
        statement = insert(schedule_cursors).values(row)
        upsert = statement.on_conflict_do_update(
            index_elements=["schedule", "target"], set_={"definition": definition, "reached": slot}, where=is_news
        )
        async with self._database.begin() as connection:
            await connection.execute(upsert)


def _schedule_of(request: JobRequest) -> str:
    if request.slot is None:
        raise ValueError("a slot's request names its slot")
    return request.slot.partition("/")[0]
