"""What people ask the ledger: which findings, which runs, whose canary."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.canary import Canary
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from prober.domain.reading import Sighting
from prober.domain.verdict import Spending
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.pruned import pruned_before
from prober.store.rows import StoredCanary, StoredFinding, StoredRun, StoredTally, clip
from prober.store.schema.runs import findings, observations, probes, runs, sightings
from prober.store.schema.vault import Pruned
from prober.store.self_test_rows import is_of_users


class LedgerLookups:
    """Reads the ledger, and acknowledges findings. Raises LedgerError only."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def runs(
        self, *, target: str | None = None, limit: int = 50, before: str | None = None
    ) -> tuple[StoredRun, ...]:
        """List runs, newest first, open ones included; self-tests only where their own target is asked for.

        Args:
            target: only this target's.
            limit: at most so many.
            before: id of the last run of the page before; one that is not known leaves none.
        """
        query = sa.select(runs).order_by(runs.c.started_at.desc(), runs.c.run_id).limit(limit)
        query = query.where(is_of_users(runs.c.target) if target is None else runs.c.target == target)
        if before is not None:
            last = sa.select(runs.c.started_at).where(runs.c.run_id == before).scalar_subquery()
            is_later = sa.and_(runs.c.started_at == last, runs.c.run_id > before)
            query = query.where(sa.or_(runs.c.started_at < last, is_later))
        async with self._database.read() as connection:
            return tuple(map(_run, await connection.execute(query)))

    async def run(self, run_id: str) -> StoredRun | None:
        """Show one run."""
        async with self._database.read() as connection:
            row = (await connection.execute(sa.select(runs).where(runs.c.run_id == run_id))).one_or_none()
        return None if row is None else _run(row)

    async def findings(
        self,
        *,
        worse_than: Outcome = Outcome.CLEAN,
        run_id: str | None = None,
        target: str | None = None,
        reason: Reason | None = None,
        is_acknowledged: bool | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> tuple[StoredFinding, ...]:
        """List findings, newest first, without their sightings; self-tests' only where their run or target is named.

        Args:
            worse_than: only outcomes worse than this one; CLEAN leaves all that is not clean.
            run_id: only this run's.
            target: only this target's.
            reason: only those of this reason.
            is_acknowledged: only those (not) acknowledged; None for both.
            before: only what was stored before the finding of this id: the last one of the page before.
            limit: at most so many.
        """
        wanted = [outcome for outcome in Outcome if outcome.rank > worse_than.rank]
        query = _FINDINGS.where(findings.c.outcome.in_(wanted)).limit(limit).order_by(findings.c.id.desc())
        for column, value in ((findings.c.run_id, run_id), (runs.c.target, target), (findings.c.reason, reason)):
            if value is not None:
                query = query.where(column == value)
        if run_id is None and target is None:
            query = query.where(is_of_users(runs.c.target))
        if before is not None:
            query = query.where(findings.c.id < before)
        if is_acknowledged is not None:
            acknowledged = findings.c.acknowledged_at
            query = query.where(acknowledged.is_not(None) if is_acknowledged else acknowledged.is_(None))
        async with self._database.read() as connection:
            return tuple(_finding(row) for row in await connection.execute(query))

    async def finding(self, finding_id: int) -> StoredFinding | None:
        """Show one finding with its sightings, and with the probes that sent the canaries sighted."""
        async with self._database.read() as connection:
            row = (await connection.execute(_FINDINGS.where(findings.c.id == finding_id))).one_or_none()
            if row is None:
                return None
            query = sa.select(sightings).where(sightings.c.finding_id == finding_id).order_by(sightings.c.id)
            seen = tuple(map(_sighting, await connection.execute(query)))
            owners = [await whose(connection, canary) for canary in dict.fromkeys(s.canary for s in seen)]
        return _finding(row, seen, tuple(owner for owner in owners if owner is not None))

    async def acknowledge(self, finding_id: int, by: str) -> bool:
        """Mark a finding as seen by somebody; the first one stays. False when there is no such finding."""
        async with self._database.begin() as connection:
            row = await connection.execute(sa.select(findings.c.id).where(findings.c.id == finding_id))
            if row.one_or_none() is None:
                return False
            await connection.execute(
                sa.update(findings)
                .where(findings.c.id == finding_id, findings.c.acknowledged_at.is_(None))
                .values(acknowledged_at=self._clock.now(), acknowledged_by=clip(by))
            )
        return True

    async def tallies(self, target: str) -> tuple[StoredTally, ...]:
        """Count a target's judged probes by scenario, build and outcome; scenarios in alphabetical order.

        Only probes that the scenario exists for count, and their re-probes: what seeds, primes or provokes does not.
        """
        last_at = sa.func.max(observations.c.sent_at).label("last_at")
        key = (probes.c.scenario, runs.c.build, observations.c.outcome)
        query = (
            sa.select(*key, sa.func.count().label("probes"), last_at)
            .join_from(observations, probes, observations.c.probe_id == probes.c.id)
            .join(runs, probes.c.run_id == runs.c.run_id)
            .where(runs.c.target == target, probes.c.role.in_(_CHECKING))
            .group_by(*key)
            .order_by(*key)
        )
        async with self._database.read() as connection:
            return tuple(
                StoredTally(
                    scenario=row.scenario, build=row.build, outcome=row.outcome, probes=row.probes, last_at=row.last_at
                )
                for row in await connection.execute(query)
            )

    async def canaries_pruned_before(self) -> dt.datetime | None:
        """Tell up to when canaries may be gone: one that is not found was never sent, or before; None: all are here."""
        async with self._database.read() as connection:
            return await pruned_before(connection, Pruned.RUNS)

    async def whose(self, canary: Canary) -> StoredCanary | None:
        """Tell which run and probe sent a canary first; None if this ledger never did."""
        async with self._database.read() as connection:
            return await whose(connection, canary)


_CHECKING = (Role.CHECK, Role.CONFIRMATION)
_FINDINGS = sa.select(findings, runs.c.target, probes.c.label).join_from(
    findings.join(runs, findings.c.run_id == runs.c.run_id), probes, findings.c.probe_id == probes.c.id, isouter=True
)


async def whose(connection: AsyncConnection, canary: Canary) -> StoredCanary | None:
    """Look a canary up by its numbers; rewrites bear their first text's canary, so the oldest row is the sender."""
    query = (
        sa.select(probes)
        .where(probes.c.tenant_number == canary.tenant_number, probes.c.probe_number == canary.probe_number)
        .order_by(probes.c.remembered_at, probes.c.id)
        .limit(1)
    )
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        return None
    return StoredCanary(
        canary=canary,
        run_id=row.run_id,
        label=row.label,
        tenant=row.tenant,
        planned_tokens=row.planned_tokens,
        remembered_at=row.remembered_at,
    )


def _run(row: sa.Row[Any]) -> StoredRun:
    spent = None
    if row.spent_requests is not None:
        spent = Spending(
            requests=row.spent_requests,
            prompt_tokens=row.spent_prompt_tokens,
            output_tokens=row.spent_output_tokens,
        )
    return StoredRun(
        run_id=row.run_id,
        target=row.target,
        build=row.build,
        started_at=row.started_at,
        ended_at=row.ended_at,
        outcome=row.outcome,
        reasons=tuple(map(Reason, row.reasons or ())),
        probes=row.probes,
        spent=spent,
        trigger=row.trigger,
        scenarios=tuple(row.scenarios),
        conclusive=row.conclusive,
        clean=row.clean,
        leak_rate_upper95=row.leak_rate_upper95,
    )


def _sighting(row: sa.Row[Any]) -> Sighting:
    return Sighting(
        tier=row.tier,
        canary=Canary(row.tenant_number, row.probe_number),
        is_live=row.is_live,
        windows=row.windows,
        first_block=row.first_block,
        last_block=row.last_block,
        evidence_bits=row.evidence_bits,
    )


def _finding(row: sa.Row[Any], seen: tuple[Sighting, ...] = (), donors: Sequence[StoredCanary] = ()) -> StoredFinding:
    return StoredFinding(
        finding_id=row.id,
        run_id=row.run_id,
        target=row.target,
        found_at=row.found_at,
        finding=Finding(
            detector=row.detector,
            outcome=row.outcome,
            reason=row.reason,
            message=row.message,
            probe_label=row.label or "",
            evidence_bits=row.evidence_bits,
            sightings=seen,
            is_confirmed=row.is_confirmed,
            kinds=tuple(map(FaultKind, row.kinds or ())),
        ),
        acknowledged_at=row.acknowledged_at,
        acknowledged_by=row.acknowledged_by,
        donors=tuple(donors),
    )
