"""A run's report, read back from the ledger: the same facts as those of the run that just ended."""

import collections
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.campaign import Run
from prober.domain.canary import Canary
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Finding, Reason
from prober.domain.observation import Timeline
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from prober.domain.reading import Sighting
from prober.domain.target import Target
from prober.domain.trace import Trace
from prober.domain.verdict import LimitMap, ProbeSummary, RunReport, Spending, Verdict
from prober.store.database import Database
from prober.store.schema.runs import findings, observations, probes, runs, sightings
from prober.store.self_test_rows import is_of_users
from prober.store.terms import campaign_under


class StoredReports:
    """Reports of runs that have ended. Raises LedgerError only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def report(self, run_id: str) -> RunReport | None:
        """Read a run's report; None: it is not known, or has not ended.

        What was pruned since is missing from `probes` and `findings`; the verdict still counts it.
        """
        async with self._database.read() as connection:
            row = (await connection.execute(sa.select(runs).where(runs.c.run_id == run_id))).one_or_none()
            if row is None or row.ended_at is None:
                return None
            found = await _findings(connection, run_id)
            sent = (await connection.execute(_OBSERVED.where(probes.c.run_id == run_id))).all()
        return _report(row, found, sent)

    async def latest(self, target: str | None = None) -> str | None:
        """Name the run that ended last, of one target or of all, self-tests aside; None: none has."""
        query = sa.select(runs.c.run_id).where(runs.c.ended_at.is_not(None))
        query = query.where(is_of_users(runs.c.target) if target is None else runs.c.target == target)
        query = query.order_by(runs.c.ended_at.desc(), runs.c.started_at.desc()).limit(1)
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar_one_or_none()


_OBSERVED = (
    sa.select(probes, observations)
    .join_from(probes, observations, observations.c.probe_id == probes.c.id)
    .order_by(probes.c.id)
)
_Found = list[tuple[int | None, Finding]]


async def _findings(connection: AsyncConnection, run_id: str) -> _Found:
    """Findings with the probes they are about, in the order in which they were made."""
    seen: dict[int, list[Sighting]] = collections.defaultdict(list)
    of_run = sa.select(findings.c.id).where(findings.c.run_id == run_id)
    query = sa.select(sightings).where(sightings.c.finding_id.in_(of_run)).order_by(sightings.c.id)
    for row in await connection.execute(query):
        seen[row.finding_id].append(_sighting(row))
    labelled = (
        sa.select(findings, probes.c.label)
        .join_from(findings, probes, findings.c.probe_id == probes.c.id, isouter=True)
        .where(findings.c.run_id == run_id)
        .order_by(findings.c.id)
    )
    return [(row.probe_id, _finding(row, seen[row.id])) for row in await connection.execute(labelled)]


def _report(row: sa.Row[Any], found: _Found, sent: Sequence[sa.Row[Any]]) -> RunReport:
    target = Target(name=row.target, model=row.model, build=row.build, dialect="", context_tokens=0)
    run = Run(
        run_id=row.run_id,
        campaign=campaign_under(row.terms, target, row.tenants, *row.scenarios),
        trigger=row.trigger,
        started_at=row.started_at,
        facts=dict(row.facts or {}),
    )
    reasons: dict[int | None, list[Reason]] = collections.defaultdict(list)
    for probe_id, finding in found:
        reasons[probe_id].append(finding.reason)
    summaries = tuple(_summary(each, tuple(dict.fromkeys(reasons[each.probe_id]))) for each in sent)
    donors: dict[str, str] = {}
    for summary in summaries:
        donors.setdefault(summary.canary, summary.label)
    return RunReport(
        run=run,
        ended_at=row.ended_at,
        verdict=_verdict(row, summaries),
        findings=tuple(sorted((finding for _, finding in found), key=lambda finding: -finding.outcome.rank)),
        probes=summaries,
        estimate=_spending(row, "estimated"),
        spent=_spending(row, "spent"),
        limits=LimitMap(
            largest_served=row.largest_served, smallest_rejected=row.smallest_rejected, first_wrong=row.first_wrong
        ),
        tenant_names={int(number): name for number, name in row.tenants.items()},
        donor_labels=donors,
    )


def _verdict(row: sa.Row[Any], summaries: tuple[ProbeSummary, ...]) -> Verdict:
    """As stored; of a run that was given up, counted from what it had judged."""
    judged = [each for each in summaries if each.role != Role.CALIBRATION.value]
    conclusive = [each for each in judged if each.outcome is not Outcome.INCONCLUSIVE]
    clean = sum(each.outcome is Outcome.CLEAN for each in conclusive)
    return Verdict(
        outcome=row.outcome,
        reasons=tuple(map(Reason, row.reasons or ())),
        probes=len(summaries) if row.probes is None else row.probes,
        conclusive=len(conclusive) if row.conclusive is None else row.conclusive,
        clean=clean if row.clean is None else row.clean,
        leak_rate_upper95=row.leak_rate_upper95,
        evidence_bits=row.evidence_bits or 0.0,
    )


def _spending(row: sa.Row[Any], kind: str) -> Spending:
    figures = row._mapping  # noqa: SLF001 - SQLAlchemy's documented name for it
    return Spending(
        requests=figures[f"{kind}_requests"] or 0,
        prompt_tokens=figures[f"{kind}_prompt_tokens"] or 0,
        output_tokens=figures[f"{kind}_output_tokens"] or 0,
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


def _finding(row: sa.Row[Any], seen: list[Sighting]) -> Finding:
    return Finding(
        detector=row.detector,
        outcome=row.outcome,
        reason=row.reason,
        message=row.message,
        probe_label=row.label or "",
        evidence_bits=row.evidence_bits,
        sightings=tuple(seen),
        is_confirmed=row.is_confirmed,
        kinds=tuple(map(FaultKind, row.kinds or ())),
    )


def _summary(row: sa.Row[Any], reasons: tuple[Reason, ...]) -> ProbeSummary:
    return ProbeSummary(
        label=row.label,
        scenario=row.scenario,
        role=row.role.value,
        tenant=row.tenant,
        canary=str(Canary(row.tenant_number, row.probe_number)),
        request_id=row.request_id or "",
        planned_tokens=row.planned_tokens,
        prompt_tokens=row.prompt_tokens,
        expectation=row.expectation.value,
        status=row.status,
        answer=row.answer,
        outcome=row.outcome,
        reasons=reasons,
        first_token_seconds=row.timeline.get("first_token"),
        answer_sha256=row.answer_sha256,
        answer_characters=row.answer_characters,
        trace=_trace(row),
    )


def _trace(row: sa.Row[Any]) -> Trace:
    marks = row.timeline
    return Trace(
        sent_at=row.sent_at,
        is_stream=row.is_stream,
        body_acked_seconds=marks.get("body_acked"),
        headers_seconds=marks.get("headers"),
        last_token_seconds=marks.get("last_token"),
        end_seconds=marks.get("end"),
        is_timing_trusted=marks.get("loop_lag_seconds", 0.0) <= Timeline.MAX_TRUSTED_LAG_SECONDS,
        max_output_tokens=row.max_output_tokens,
        completion_tokens=row.completion_tokens,
        cached_tokens=row.cached_tokens,
        finish_reason=row.finish_reason,
        failure=None if row.failure is None else row.failure.value,
        refusal=None if row.refusal is None else row.refusal.value,
        refusal_code=row.refusal_code,
        stated_limits=tuple(row.stated_limits or ()),
        stated_tokens=row.stated_tokens,
        response_id=row.response_id,
        model_reported=row.model_reported,
        system_fingerprint=row.system_fingerprint,
        headers=dict(row.evidence_headers),
    )
