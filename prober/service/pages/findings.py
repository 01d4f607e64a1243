"""One finding with its evidence, as one hands it on: whose text, from which request, how sure, how to repeat."""

import asyncio
import dataclasses

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from prober.domain.account import Scope
from prober.domain.fault_kind import FaultKind
from prober.domain.verdict import ProbeSummary, RunReport
from prober.report.advice import KindNote, advice_on, note_on
from prober.report.attribution import WORDS_PER_BLOCK, Attribution, attributions
from prober.report.drawing import floor_line
from prober.report.facts import Facts, facts_of
from prober.report.harmless import harmless_throughout
from prober.report.pictures.exchange import draw_exchange
from prober.report.pictures.prefill import Point
from prober.report.wording import certainty
from prober.service.pages.access import Denied, number_of, page, ports_of
from prober.service.pages.rendering import render
from prober.store.rows import StoredFinding


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Donor:
    """Whose text stood in the answer, told with names."""

    attribution: Attribution
    certainty: str
    words: str
    """Which words of its prompt; empty where that is not known."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The request that the finding is about, and its answer."""

    probe: ProbeSummary
    picture: Markup | None
    """None: nothing of its course is known."""


@page(Scope.READ)
async def show(request: Request) -> Response:
    """Show one."""
    ports = ports_of(request)
    stored = await ports.desk.lookups.finding(number_of(request, "finding_id"))
    if stored is None:
        raise Denied(404, "No such finding", "It was never made, or is no longer kept.")
    stored = harmless_throughout(stored)
    report = await ports.desk.reports.report(stored.run_id)
    donors, exchange = ((), None) if report is None else await asyncio.to_thread(_evidence, stored, report)
    return render(
        request,
        "finding.html",
        stored=stored,
        finding=stored.finding,
        advice=advice_on(stored.finding.reason),
        kinds=_kinds(stored),
        certainty=certainty(stored.finding.evidence_bits),
        donors=donors,
        exchange=exchange,
        is_ended=report is not None,
    )


def _kinds(stored: StoredFinding) -> list[tuple[FaultKind, KindNote]]:
    return [(kind, note_on(kind)) for kind in stored.finding.kinds]


def _evidence(stored: StoredFinding, report: RunReport) -> tuple[tuple[Donor, ...], Exchange | None]:
    facts = facts_of(report)
    donors = tuple(map(_donor, attributions(facts.report, stored.finding)))
    probe = facts.probes.get(stored.finding.probe_label)
    return donors, None if probe is None else Exchange(probe=probe, picture=_picture(probe, facts))


def _donor(attribution: Attribution) -> Donor:
    words = ""
    if attribution.first_block is not None and attribution.last_block is not None:
        first, last = attribution.first_block * WORDS_PER_BLOCK, (attribution.last_block + 1) * WORDS_PER_BLOCK
        words = f"{first:,} to {last:,}"
    return Donor(attribution=attribution, certainty=certainty(attribution.evidence_bits), words=words)


def _picture(probe: ProbeSummary, facts: Facts) -> Markup | None:
    trace = probe.trace
    named = (
        ("whole request arrived", trace.body_acked_seconds),
        ("headers", trace.headers_seconds),
        ("first token", probe.first_token_seconds),
        ("last token", trace.last_token_seconds),
        ("end", trace.end_seconds),
    )
    marks = [(name, seconds) for name, seconds in named if seconds is not None]
    return draw_exchange("exchange", marks, probe.outcome, _floor(probe, facts)) if marks else None


def _floor(probe: ProbeSummary, facts: Facts) -> float | None:
    """The floor for this prompt, as it stood at the run's end."""
    tokens, seconds = probe.prompt_tokens or probe.planned_tokens, probe.first_token_seconds
    if not tokens or seconds is None:
        return None
    point = Point(label=probe.label, tokens=tokens, seconds=seconds, outcome=probe.outcome, is_anchor=False)
    line = floor_line(facts, [point])
    return line[-1][1] if line else None
