"""What PostgreSQL holds of jobs, slots and runs, with the times at which it was really committed."""

import contextlib
import dataclasses
import datetime as dt
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import asyncpg

JOBS = """
    SELECT id, job_id, target, slot, idempotency_key, state, attempts, fence, run_id, outcome, note FROM jobs
"""
RUNS = """
    SELECT runs.run_id, runs.target, runs.outcome, runs.reasons, runs.ended_at, job_runs.job_id AS job,
        job_runs.fence, pg_xact_commit_timestamp(job_runs.xmin) AS opened, pg_xact_commit_timestamp(runs.xmin) AS closed
    FROM runs LEFT JOIN job_runs USING (run_id)
"""
WRITES = """
    SELECT run_id, max(pg_xact_commit_timestamp(written)) AS latest FROM (
        SELECT run_id, xmin AS written FROM probes
        UNION ALL SELECT run_id, xmin FROM findings
        UNION ALL SELECT probes.run_id, observations.xmin FROM observations JOIN probes ON probes.id = probe_id
    ) AS rows GROUP BY run_id
"""
CURSORS = "SELECT schedule, target, reached FROM schedule_cursors"
OPEN_JOBS = "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')"
SLOTS = "SELECT count(*) FROM jobs WHERE slot IS NOT NULL"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """One row of `jobs`."""

    number: int
    job_id: str
    target: str
    slot: str | None
    key: str | None
    state: str
    attempts: int
    fence: int
    run_id: str | None
    outcome: str | None
    note: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One row of `runs`."""

    run_id: str
    target: str
    outcome: str | None
    reasons: tuple[str, ...]
    is_ended: bool
    job: int | None
    """Number of its job."""
    fence: int | None
    """Of the claim under which it was opened."""
    opened: dt.datetime
    """When the opening was committed."""
    closed: dt.datetime
    """When the latest change of the run itself was."""
    latest_write: dt.datetime | None
    """When the latest row of a probe, an observation or a finding of it was."""

    @property
    def is_interrupted(self) -> bool:
        """It ended before its verdict."""
        return "interrupted" in self.reasons


Cursors = Mapping[tuple[str, str], dt.datetime]
"""(schedule, target) -> latest slot that was dealt with."""


class LedgerFacts:
    """Reads them, past the prober."""

    def __init__(self, connection: Any) -> None:  # noqa: ANN401 - asyncpg has no types
        self._connection = connection

    async def jobs(self) -> list[JobFacts]:
        return [
            JobFacts(number=row["id"], key=row["idempotency_key"], **_but(row, "id", "idempotency_key"))
            for row in await self._connection.fetch(JOBS)
        ]

    async def runs(self) -> list[RunFacts]:
        latest = {row["run_id"]: row["latest"] for row in await self._connection.fetch(WRITES)}
        return [
            RunFacts(
                reasons=tuple(json.loads(row["reasons"] or "[]")),
                is_ended=row["ended_at"] is not None,
                latest_write=latest.get(row["run_id"]),
                **_but(row, "reasons", "ended_at"),
            )
            for row in await self._connection.fetch(RUNS)
        ]

    async def cursors(self) -> Cursors:
        rows = await self._connection.fetch(CURSORS)
        return {(row["schedule"], row["target"]): row["reached"] for row in rows}

    async def open_jobs(self) -> int:
        return int(await self._connection.fetchval(OPEN_JOBS))

    async def slots(self) -> int:
        return int(await self._connection.fetchval(SLOTS))


@contextlib.asynccontextmanager
async def ledger_facts(url: str) -> AsyncIterator[LedgerFacts]:
    """Connect for one look."""
    connection = await asyncpg.connect(url, timeout=10)
    try:
        yield LedgerFacts(connection)
    finally:
        await connection.close()


def _but(row: Any, *left_out: str) -> dict[str, Any]:  # noqa: ANN401 - asyncpg has no types
    return {key: value for key, value in dict(row).items() if key not in left_out}
