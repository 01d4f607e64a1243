"""What retention may delete: the oldest rows of a kind, page by page, whatever is still needed left out."""

import abc
import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.issue import IssueState
from prober.domain.job import JobState
from prober.domain.outcome import Outcome
from prober.store.database import Database
from prober.store.pruned import write_down
from prober.store.schema.issues import issues
from prober.store.schema.runs import findings, observations, probes, runs, sightings
from prober.store.schema.vault import Pruned, vault_excerpts
from prober.store.schema.work import jobs

BATCH = 500
"""Rows of one transaction. With all that hangs on them SQLite deletes them in some tens of milliseconds, for which
other writers wait."""

_LOCK = 0x7072756E65
"""Key of the advisory lock under which replicas prune in turn: deleting the same rows at once could deadlock."""

_GRAVE = (Outcome.SUSPECT, Outcome.VIOLATION)
_UNSETTLED = (IssueState.OPEN, IssueState.ACKNOWLEDGED, IssueState.SUPPRESSED)
_FINAL = (JobState.DONE, JobState.CANCELLED, JobState.MISSED)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows that one step deleted, or would delete."""

    rows: int
    newest: dt.datetime | None
    """Date of the newest among them; None: there were none."""


NOTHING = Batch(rows=0, newest=None)


class Prunable(abc.ABC):
    """One kind of rows, gone through once from the oldest on. Rows it passed and left are not looked at again."""

    kind: Pruned

    def __init__(self, cutoff: dt.datetime) -> None:
        """Delete what is older than an aware date."""
        self._cutoff = cutoff
        self._after: Any = None

    async def step(self, database: Database, now: dt.datetime, *, is_dry: bool = False) -> Batch:
        """Delete up to `BATCH` rows in one transaction, and write down that they are gone.

        Returns:
            What was deleted; `rows` 0: nothing is left to delete, or another replica is at it.
        """
        while True:
            async with database.read() if is_dry else database.begin() as connection:
                if not is_dry and not await _is_my_turn(connection):
                    return NOTHING
                page = (await connection.execute(self._page())).all()
                doomed = [row for row in page if row.is_free and row.at < self._cutoff]
                newest = max((row.at for row in doomed), default=None)
                if newest is not None and not is_dry:
                    await self._delete(connection, [row.key for row in doomed])
                    await write_down(connection, self.kind, rows=len(doomed), newest=newest, now=now)
            if page:
                self._after = self._mark(page[-1])
            if doomed:
                return Batch(rows=len(doomed), newest=newest)
            if len(page) < BATCH or all(row.at >= self._cutoff for row in page):
                return NOTHING

    @abc.abstractmethod
    def _page(self) -> sa.Select[Any]:
        """Next `BATCH` rows as `key`, `at`, `is_free`, the oldest first."""

    @abc.abstractmethod
    async def _delete(self, connection: AsyncConnection, keys: Sequence[Any]) -> None: ...

    def _mark(self, row: sa.Row[Any]) -> Any:  # noqa: ANN401 - a key, of whatever type
        """Where the next page begins."""
        return row.key


class Observations(Prunable):
    """What came back, with CLEAN findings; but for probes with a finding that is kept."""

    kind = Pruned.OBSERVATIONS

    def _page(self) -> sa.Select[Any]:
        key = observations.c.probe_id
        query = (
            sa.select(
                key.label("key"),
                probes.c.remembered_at.label("at"),
                (runs.c.ended_at.is_not(None) & ~_has_kept_finding()).label("is_free"),
            )
            .join_from(observations, probes, key == probes.c.id)
            .join(runs, probes.c.run_id == runs.c.run_id)
            .order_by(key)
            .limit(BATCH)
        )
        return query if self._after is None else query.where(key > self._after)

    async def _delete(self, connection: AsyncConnection, keys: Sequence[Any]) -> None:
        is_clean = findings.c.probe_id.in_(keys) & (findings.c.outcome == Outcome.CLEAN)
        await connection.execute(sa.delete(findings).where(is_clean))
        await connection.execute(sa.delete(observations).where(observations.c.probe_id.in_(keys)))


class Canaries(Prunable):
    """Probes with all that hangs on them; but for those with a finding that is kept, and those sighted by one."""

    kind = Pruned.RUNS

    def _page(self) -> sa.Select[Any]:
        key = probes.c.id
        query = (
            sa.select(
                key.label("key"),
                probes.c.remembered_at.label("at"),
                (runs.c.ended_at.is_not(None) & ~_has_kept_finding() & ~_is_sighted()).label("is_free"),
            )
            .join_from(probes, runs, probes.c.run_id == runs.c.run_id)
            .order_by(key)
            .limit(BATCH)
        )
        return query if self._after is None else query.where(key > self._after)

    async def _delete(self, connection: AsyncConnection, keys: Sequence[Any]) -> None:
        await connection.execute(sa.delete(probes).where(probes.c.id.in_(keys)))


class Runs(Prunable):
    """Ended runs of which nothing is left that is kept."""

    kind = Pruned.RUNS

    def _page(self) -> sa.Select[Any]:
        is_free = ~sa.exists().where(probes.c.run_id == runs.c.run_id) & ~sa.exists().where(
            findings.c.run_id == runs.c.run_id, _is_kept()
        )
        query = (
            sa.select(runs.c.run_id.label("key"), runs.c.ended_at.label("at"), is_free.label("is_free"))
            .where(runs.c.ended_at < self._cutoff)
            .order_by(runs.c.ended_at, runs.c.run_id)
            .limit(BATCH)
        )
        place = sa.tuple_(runs.c.ended_at, runs.c.run_id)
        return query if self._after is None else query.where(place > sa.tuple_(*self._after))

    def _mark(self, row: sa.Row[Any]) -> Any:  # noqa: ANN401 - as above
        return (sa.literal(row.at, runs.c.ended_at.type), row.key)

    async def _delete(self, connection: AsyncConnection, keys: Sequence[Any]) -> None:
        await connection.execute(sa.delete(runs).where(runs.c.run_id.in_(keys)))


class Jobs(Prunable):
    """Jobs that came to an end."""

    kind = Pruned.RUNS

    def _page(self) -> sa.Select[Any]:
        at = sa.func.coalesce(jobs.c.ended_at, jobs.c.queued_at, type_=jobs.c.queued_at.type)
        query = (
            sa.select(jobs.c.id.label("key"), at.label("at"), jobs.c.state.in_(_FINAL).label("is_free"))
            .order_by(jobs.c.id)
            .limit(BATCH)
        )
        return query if self._after is None else query.where(jobs.c.id > self._after)

    async def _delete(self, connection: AsyncConnection, keys: Sequence[Any]) -> None:
        await connection.execute(sa.delete(jobs).where(jobs.c.id.in_(keys)))


class Findings(Prunable):
    """SUSPECT and VIOLATION findings that no unsettled issue is about."""

    kind = Pruned.FINDINGS

    def _page(self) -> sa.Select[Any]:
        query = (
            sa.select(
                findings.c.id.label("key"),
                findings.c.found_at.label("at"),
                (runs.c.ended_at.is_not(None) & ~_is_of_unsettled_issue()).label("is_free"),
            )
            .join_from(findings, runs, findings.c.run_id == runs.c.run_id)
            .where(findings.c.outcome.in_(_GRAVE), findings.c.found_at < self._cutoff)
            .order_by(findings.c.found_at, findings.c.id)
            .limit(BATCH)
        )
        place = sa.tuple_(findings.c.found_at, findings.c.id)
        return query if self._after is None else query.where(place > sa.tuple_(*self._after))

    def _mark(self, row: sa.Row[Any]) -> Any:  # noqa: ANN401 - as above
        return (sa.literal(row.at, findings.c.found_at.type), row.key)

    async def _delete(self, connection: AsyncConnection, keys: Sequence[Any]) -> None:
        await connection.execute(sa.delete(findings).where(findings.c.id.in_(keys)))


class Excerpts(Prunable):
    """Foreign text, whatever it is evidence for: it belongs to others."""

    kind = Pruned.VAULT

    def _page(self) -> sa.Select[Any]:
        query = (
            sa.select(
                vault_excerpts.c.id.label("key"), vault_excerpts.c.kept_at.label("at"), sa.true().label("is_free")
            )
            .order_by(vault_excerpts.c.id)
            .limit(BATCH)
        )
        return query if self._after is None else query.where(vault_excerpts.c.id > self._after)

    async def _delete(self, connection: AsyncConnection, keys: Sequence[Any]) -> None:
        await connection.execute(sa.delete(vault_excerpts).where(vault_excerpts.c.id.in_(keys)))


def _is_of_unsettled_issue() -> sa.Exists:
    """Issues fold findings by target, detector and reason; nobody has settled this one for good."""
    return sa.exists().where(
        issues.c.target == runs.c.target,
        issues.c.detector == findings.c.detector,
        issues.c.reason == findings.c.reason,
        issues.c.state.in_(_UNSETTLED),
    )


def _is_kept() -> sa.ColumnElement[bool]:
    """Findings that explain themselves only by what is around them."""
    is_told = sa.and_(findings.c.outcome != Outcome.CLEAN, _is_of_unsettled_issue().correlate(findings, runs))
    return sa.or_(findings.c.outcome.in_(_GRAVE), is_told)


def _has_kept_finding() -> sa.ColumnElement[bool]:
    return sa.exists().where(findings.c.probe_id == probes.c.id, _is_kept())


def _is_sighted() -> sa.ColumnElement[bool]:
    """Some kept finding names this probe's canary: without it nobody could say whose text it was."""
    return sa.exists().where(
        sightings.c.tenant_number == probes.c.tenant_number,
        sightings.c.probe_number == probes.c.probe_number,
        sightings.c.finding_id == findings.c.id,
        findings.c.outcome.in_(_GRAVE),
    )


async def _is_my_turn(connection: AsyncConnection) -> bool:
    """Until the transaction ends; on SQLite a transaction that writes has the whole file."""
    if connection.dialect.name != "postgresql":
        return True
    return bool((await connection.execute(sa.select(sa.func.pg_try_advisory_xact_lock(_LOCK)))).scalar_one())
