"""What people ask the ledger: which findings, which runs, whose canary."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.canary import Canary
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.reading import Sighting
from prober.domain.verdict import Spending
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.rows import StoredCanary, StoredFinding, StoredRun, clip
from prober.store.schema import findings, probes, runs, sightings


class LedgerLookups:
    """Reads the ledger, and acknowledges findings. Raises LedgerError only."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def runs(self, *, target: str | None = None, limit: int = 50) -> tuple[StoredRun, ...]:
        """List runs, newest first, open ones included."""
        query = sa.select(runs).order_by(runs.c.started_at.desc(), runs.c.run_id).limit(limit)
        if target is not None:
            query = query.where(runs.c.target == target)
        async with self._database.read() as connection:
            return tuple(map(_run, await connection.execute(query)))

    async def findings(
        self,
        *,
        worse_than: Outcome = Outcome.CLEAN,
        run_id: str | None = None,
        is_acknowledged: bool | None = None,
        limit: int = 100,
    ) -> tuple[StoredFinding, ...]:
        """List findings, newest first, without their sightings.

        Args:
            worse_than: only outcomes worse than this one; CLEAN leaves all that is not clean.
            run_id: only this run's.
            is_acknowledged: only those (not) acknowledged; None for both.
            limit: at most so many.
        """
        wanted = [outcome for outcome in Outcome if outcome.rank > worse_than.rank]
        query = _FINDINGS.where(findings.c.outcome.in_(wanted)).limit(limit)
        query = query.order_by(findings.c.found_at.desc(), findings.c.id.desc())
        if run_id is not None:
            query = query.where(findings.c.run_id == run_id)
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
            owners = [await _whose(connection, canary) for canary in dict.fromkeys(s.canary for s in seen)]
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

    async def whose(self, canary: Canary) -> StoredCanary | None:
        """Tell which run and probe sent a canary first; None if this ledger never did."""
        async with self._database.read() as connection:
            return await _whose(connection, canary)


_FINDINGS = sa.select(findings, runs.c.target, probes.c.label).join_from(
    findings.join(runs, findings.c.run_id == runs.c.run_id), probes, findings.c.probe_id == probes.c.id, isouter=True
)


async def _whose(connection: AsyncConnection, canary: Canary) -> StoredCanary | None:
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
        ),
        acknowledged_at=row.acknowledged_at,
        acknowledged_by=row.acknowledged_by,
        donors=tuple(donors),
    )
