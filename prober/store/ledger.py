"""The canary ledger: what was sent, what came back, what was concluded. Written before each probe leaves."""

import datetime as dt
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.campaign import Run
from prober.domain.errors import LedgerError
from prober.domain.evidence import Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome, worst
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.verdict import RunReport, Spending
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.rows import finding_row, observation_row, probe_row, run_row, sighting_row, verdict_row
from prober.store.schema import findings, observations, probes, runs, sightings

ABANDONED_MESSAGE = "The process that ran this ended without a verdict; what it had not judged is not known."


class SqlLedger:
    """`runner.ports.Ledger` on SQLite or PostgreSQL. Every method is one transaction and raises LedgerError only."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def open_run(self, run: Run, estimate: Spending) -> None:
        """Store the run before its first probe."""
        async with self._database.begin() as connection:
            await connection.execute(sa.insert(runs).values(run_row(run, estimate, self._clock.now())))

    async def remember(self, run: Run, planned: Sequence[tuple[Probe, Prompt]]) -> None:
        """Store the canaries of probes about to be sent; committed when it returns.

        Raises:
            LedgerError: also when the run was never opened.
        """
        if not planned:
            return
        now = self._clock.now()
        async with self._database.begin() as connection:
            await _touch(connection, run.run_id, now)
            await connection.execute(
                sa.insert(probes), [probe_row(run, probe, prompt, now) for probe, prompt in planned]
            )

    async def record(self, run: Run, judgement: Judgement) -> None:
        """Store what came back and what was concluded.

        Raises:
            LedgerError: also for a probe that was never remembered, or is recorded already.
        """
        now = self._clock.now()
        async with self._database.begin() as connection:
            await _touch(connection, run.run_id, now)
            probe_id = await _probe_id(connection, run.run_id, judgement)
            await connection.execute(sa.insert(observations).values(observation_row(probe_id, judgement)))
            for finding in judgement.findings:
                await _add_finding(connection, run.run_id, probe_id, finding, now)

    async def close_run(self, report: RunReport) -> None:
        """Store the verdict and the findings about the run as a whole; also over an abandonment declared too early.

        Raises:
            LedgerError: also when the run was never opened.
        """
        run_id = report.run.run_id
        async with self._database.begin() as connection:
            closed = await connection.execute(
                sa.update(runs).where(runs.c.run_id == run_id).values(verdict_row(report))
            )
            _require_run(closed.rowcount)
            await connection.execute(
                sa.delete(findings).where(findings.c.run_id == run_id, findings.c.probe_id.is_(None))
            )
            for finding in report.findings:
                if not finding.probe_label:
                    await _add_finding(connection, run_id, None, finding, report.ended_at)

    async def close_abandoned(self, unseen_for: dt.timedelta) -> tuple[str, ...]:
        """Close open runs that nothing was written to for so long as INCONCLUSIVE; return their ids, oldest first.

        `unseen_for` must exceed the longest time a wave may take, or a live run of another replica is closed.
        """
        now = self._clock.now()
        is_abandoned = sa.and_(runs.c.ended_at.is_(None), runs.c.last_seen_at <= now - unseen_for)
        async with self._database.begin() as connection:
            rows = await connection.execute(
                sa.select(runs.c.run_id).where(is_abandoned).order_by(runs.c.started_at).with_for_update()
            )
            run_ids = tuple(rows.scalars())
            for run_id in run_ids:
                await _close_as_abandoned(connection, run_id, now)
        return run_ids


async def _touch(connection: AsyncConnection, run_id: str, now: dt.datetime) -> None:
    touched = await connection.execute(sa.update(runs).where(runs.c.run_id == run_id).values(last_seen_at=now))
    _require_run(touched.rowcount)


def _require_run(count: int) -> None:
    if not count:
        raise LedgerError("The ledger does not know this run; it was never opened, or was pruned while it ran.")


async def _probe_id(connection: AsyncConnection, run_id: str, judgement: Judgement) -> int:
    probe, canary = judgement.evidence.probe, judgement.evidence.prompt.canary
    row = await connection.execute(
        sa.select(probes.c.id).where(
            probes.c.run_id == run_id,
            probes.c.label == probe.label,
            probes.c.tenant_number == canary.tenant_number,
            probes.c.probe_number == canary.probe_number,
        )
    )
    probe_id = row.scalar_one_or_none()
    if probe_id is None:
        raise LedgerError(f"The probe {probe.label} was not remembered before it was sent.")
    return int(probe_id)


async def _add_finding(
    connection: AsyncConnection, run_id: str, probe_id: int | None, finding: Finding, now: dt.datetime
) -> None:
    added = await connection.execute(
        sa.insert(findings).values(finding_row(run_id, probe_id, finding, now)).returning(findings.c.id)
    )
    finding_id = added.scalar_one()
    if finding.sightings:
        await connection.execute(
            sa.insert(sightings), [sighting_row(finding_id, sighting) for sighting in finding.sightings]
        )


async def _close_as_abandoned(connection: AsyncConnection, run_id: str, now: dt.datetime) -> None:
    """Keep what the run did find: a violation recorded before the process died stays one."""
    query = sa.select(findings.c.outcome, findings.c.reason).where(findings.c.run_id == run_id).order_by(findings.c.id)
    found = [(row.outcome, row.reason) for row in await connection.execute(query)]
    outcome = worst([Outcome.INCONCLUSIVE, *(each for each, _ in found)])
    reasons = dict.fromkeys([*(reason for each, reason in found if each is outcome), Reason.INTERRUPTED])
    await connection.execute(
        sa.update(runs)
        .where(runs.c.run_id == run_id)
        .values(ended_at=now, outcome=outcome, reasons=[reason.value for reason in reasons])
    )
    note = Finding(
        detector="ledger", outcome=Outcome.INCONCLUSIVE, reason=Reason.INTERRUPTED, message=ABANDONED_MESSAGE
    )
    await _add_finding(connection, run_id, None, note, now)
