"""The canary ledger: what was sent, what came back, what was concluded. Written before each probe leaves."""

import collections
import contextlib
import datetime as dt
from collections.abc import AsyncIterator, Iterable, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.detect.marking import mark_of
from prober.domain.campaign import Run
from prober.domain.errors import LedgerError
from prober.domain.evidence import Judgement
from prober.domain.finding import Finding, Reason
from prober.domain.mark import AnswerMark
from prober.domain.notice import Route
from prober.domain.outcome import Outcome, worst
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.verdict import RunReport, Spending
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.fencing import Claim, attach_run, require_claim
from prober.store.folding import Found, Weighed, close_by, fold_all, not_in, tell_verdict
from prober.store.marks import document, is_kept, stored_mark
from prober.store.rows import finding_row, observation_row, probe_row, run_row, sighting_row, verdict_row
from prober.store.schema.runs import findings, observations, probes, reference_answers, runs, sightings
from prober.store.schema.work import job_runs

ABANDONED_MESSAGE = "The process that ran this ended without a verdict; what it had not judged is not known."


class SqlLedger:
    """`runner.ports.Ledger` on SQLite or PostgreSQL. Every method is one transaction and raises LedgerError only."""

    def __init__(
        self, database: Database, clock: Clock, claim: Claim | None = None, routes: Sequence[Route] = ()
    ) -> None:
        """Write for whoever asks or, with a claim, for one run under a job: LeaseLostError once it no longer stands.

        What findings and verdicts change is put into the outbox of those whom `routes` name, in the same transaction.
        """
        self._database = database
        self._clock = clock
        self._claim = claim
        self._routes = tuple(routes)

    def under(self, claim: Claim) -> "SqlLedger":
        """Give a ledger for one run under a job."""
        return SqlLedger(self._database, self._clock, claim, self._routes)

    @contextlib.asynccontextmanager
    async def _writing(self) -> AsyncIterator[AsyncConnection]:
        async with self._database.begin() as connection:
            if self._claim is not None:
                await require_claim(connection, self._claim)
            yield connection

    async def open_run(self, run: Run, estimate: Spending) -> None:
        """Store the run before its first probe."""
        async with self._database.begin() as connection:
            await connection.execute(sa.insert(runs).values(run_row(run, estimate, self._clock.now())))
            if self._claim is not None:
                await attach_run(connection, self._claim, run.run_id)

    async def remember(self, run: Run, planned: Sequence[tuple[Probe, Prompt]], *, is_repeat: bool = False) -> None:
        """Store the canaries of probes about to be sent; committed when it returns.

        Args:
            run: as opened.
            planned: none of them remembered before.
            is_repeat: the same was attempted before, and may stand: then nothing is added.

        Raises:
            LedgerError: also when the run was never opened.
        """
        if not planned:
            return
        now = self._clock.now()
        async with self._writing() as connection:
            await _touch(connection, run.run_id, now)
            # They were written in one transaction: the first one stands for all.
            if is_repeat and await _find_probe(connection, run.run_id, *planned[0]) is not None:
                return
            await connection.execute(
                sa.insert(probes), [probe_row(run, probe, prompt, now) for probe, prompt in planned]
            )

    async def record(self, run: Run, judgement: Judgement, *, is_repeat: bool = False) -> None:
        """Store what came back and what was concluded.

        Args:
            run: as opened.
            judgement: of a remembered probe, recorded for the first time.
            is_repeat: the same was attempted before, and may stand: then nothing is added.

        Raises:
            LedgerError: also for a probe that was never remembered, or is recorded already.
        """
        now = self._clock.now()
        async with self._writing() as connection:
            await _touch(connection, run.run_id, now)
            probe_id = await _probe_id(connection, run.run_id, judgement)
            if is_repeat and await _is_recorded(connection, probe_id):
                return
            await connection.execute(sa.insert(observations).values(observation_row(probe_id, judgement)))
            scenarios = (judgement.evidence.probe.scenario,)
            found = await _add_findings(connection, run, probe_id, judgement.findings, now)
            await fold_all(connection, found, scenarios, now, self._routes)
            if is_kept(judgement.evidence.probe):
                mark = {"probe_id": probe_id, "mark": document(mark_of(judgement))}
                await connection.execute(sa.insert(reference_answers).values(mark))

    async def reference(self, run: Run) -> tuple[AnswerMark, ...]:
        """Reference answers of the latest earlier run against the same target that kept any, in their order."""
        earlier = (
            sa.select(probes.c.run_id)
            .join_from(reference_answers, probes, reference_answers.c.probe_id == probes.c.id)
            .join(runs, probes.c.run_id == runs.c.run_id)
            .where(runs.c.target == run.campaign.target.name, runs.c.run_id != run.run_id)
            .order_by(runs.c.started_at.desc(), probes.c.id.desc())
            .limit(1)
        )
        query = (
            sa.select(reference_answers.c.mark)
            .join_from(reference_answers, probes, reference_answers.c.probe_id == probes.c.id)
            .where(probes.c.run_id == earlier.scalar_subquery())
            .order_by(probes.c.id)
        )
        async with self._database.read() as connection:
            return tuple(stored_mark(row) for row in (await connection.execute(query)).scalars())

    async def close_run(self, report: RunReport) -> None:
        """Store the verdict and the findings about the run as a whole; also over an abandonment declared too early.

        Raises:
            LedgerError: also when the run was never opened.
        """
        run_id = report.run.run_id
        async with self._writing() as connection:
            closed = await connection.execute(
                sa.update(runs).where(runs.c.run_id == run_id).values(verdict_row(report))
            )
            _require_run(closed.rowcount)
            before = await _drop_run_findings(connection, run_id)
            about_run = [finding for finding in report.findings if not finding.probe_label]
            found = await _add_findings(connection, report.run, None, about_run, report.ended_at)
            campaign = report.run.campaign
            await fold_all(connection, not_in(before, found), campaign.scenarios, report.ended_at, self._routes)
            await close_by(connection, report, self._routes)
            await tell_verdict(connection, run_id, self._routes)

    async def keep_alive(self, run: Run) -> None:
        """Write down that the run's process lives, though no probe of it came back for a while."""
        async with self._writing() as connection:
            await _touch(connection, run.run_id, self._clock.now())

    async def close_abandoned(self, unseen_for: dt.timedelta) -> tuple[str, ...]:
        """Close open runs that nobody spoke up for so long as INCONCLUSIVE; return their ids, oldest first.

        Runs under a job are left alone: they end by their job's lease. `unseen_for` must be many times the interval at
        which a run's process calls `keep_alive`.
        """
        now = self._clock.now()
        is_under_job = sa.exists().where(job_runs.c.run_id == runs.c.run_id)
        is_abandoned = sa.and_(runs.c.ended_at.is_(None), runs.c.last_seen_at <= now - unseen_for, ~is_under_job)
        async with self._database.begin() as connection:
            rows = await connection.execute(
                sa.select(runs.c.run_id).where(is_abandoned).order_by(runs.c.started_at).with_for_update()
            )
            run_ids = tuple(rows.scalars())
            for run_id in run_ids:
                await close_as_abandoned(connection, run_id, now)
                await tell_verdict(connection, run_id, self._routes)
        return run_ids


async def _touch(connection: AsyncConnection, run_id: str, now: dt.datetime) -> None:
    touched = await connection.execute(sa.update(runs).where(runs.c.run_id == run_id).values(last_seen_at=now))
    _require_run(touched.rowcount)


def _require_run(count: int) -> None:
    if not count:
        raise LedgerError("The ledger does not know this run; it was never opened, or was pruned while it ran.")


async def _find_probe(connection: AsyncConnection, run_id: str, probe: Probe, prompt: Prompt) -> int | None:
    canary = prompt.canary
    row = await connection.execute(
        sa.select(probes.c.id).where(
            probes.c.run_id == run_id,
            probes.c.label == probe.label,
            probes.c.tenant_number == canary.tenant_number,
            probes.c.probe_number == canary.probe_number,
        )
    )
    return row.scalar_one_or_none()


async def _probe_id(connection: AsyncConnection, run_id: str, judgement: Judgement) -> int:
    evidence = judgement.evidence
    probe_id = await _find_probe(connection, run_id, evidence.probe, evidence.prompt)
    if probe_id is None:
        raise LedgerError(f"The probe {evidence.probe.label} was not remembered before it was sent.")
    return probe_id


async def _is_recorded(connection: AsyncConnection, probe_id: int) -> bool:
    query = sa.select(sa.exists().where(observations.c.probe_id == probe_id))
    return bool((await connection.execute(query)).scalar_one())


async def _add_findings(
    connection: AsyncConnection, run: Run, probe_id: int | None, new: Iterable[Finding], now: dt.datetime
) -> list[Found]:
    target = run.campaign.target.name
    return [
        Found(
            finding_id=await _add_finding(connection, run.run_id, probe_id, finding, now),
            run_id=run.run_id,
            target=target,
            finding=finding,
        )
        for finding in new
    ]


async def _drop_run_findings(connection: AsyncConnection, run_id: str) -> collections.Counter[Weighed]:
    """Take away what an earlier verdict of the run said about it as a whole; tell what that was."""
    is_about_run = sa.and_(findings.c.run_id == run_id, findings.c.probe_id.is_(None))
    query = sa.select(findings.c.detector, findings.c.outcome, findings.c.reason).where(is_about_run)
    before = [(row.detector, row.outcome, row.reason) for row in await connection.execute(query)]
    await connection.execute(sa.delete(findings).where(is_about_run))
    return collections.Counter(before)


async def _add_finding(
    connection: AsyncConnection, run_id: str, probe_id: int | None, finding: Finding, now: dt.datetime
) -> int:
    added = await connection.execute(
        sa.insert(findings).values(finding_row(run_id, probe_id, finding, now)).returning(findings.c.id)
    )
    finding_id = int(added.scalar_one())
    if finding.sightings:
        await connection.execute(
            sa.insert(sightings), [sighting_row(finding_id, sighting) for sighting in finding.sightings]
        )
    return finding_id


async def close_as_abandoned(connection: AsyncConnection, run_id: str, now: dt.datetime) -> Outcome:
    """Close a run whose process is gone, within the caller's transaction; return its outcome.

    What the run did find is kept: a violation recorded before the process died stays one.
    """
    # A clock that was stepped back must not end a run before its beginning.
    started_at = (await connection.execute(sa.select(runs.c.started_at).where(runs.c.run_id == run_id))).scalar_one()
    now = max(now, started_at)
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
    return outcome
