"""From a run's facts to its pictures, each with the same figures as a table."""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Mapping

from markupsafe import Markup

from prober.domain.answer import Answer
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from prober.domain.verdict import ProbeSummary
from prober.report.attribution import attributions
from prober.report.facts import Facts
from prober.report.pictures.limits import Dot, Mark, MarkKind, draw_limits
from prober.report.pictures.matrix import Cell, draw_matrix
from prober.report.pictures.prefill import Point, draw_prefill
from prober.report.pictures.timeline import Bar, draw_timeline
from prober.report.wording import seconds_words
from prober.stats.prefill import LEAST_TIMINGS, floor_for

FLOOR_POINTS = 40
MOST_ROWS = 40
"""Of a table beside a picture; the JSON report has all."""
STRANGER = "not in this configuration"

_FLOOR = "Below the floor no honest prefill of the prompt fits; it is claimed for prompts longer than the anchors."
_NO_FLOOR = f"No floor stands: that takes {LEAST_TIMINGS} anchors of one size, timed without a delay of our own."


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A picture and its table."""

    ident: str
    title: str
    about: str
    """How to read it, in a sentence or two."""
    picture: Markup
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0
    """Rows that the table leaves out."""


def pictures_of(facts: Facts) -> tuple[Drawn, ...]:
    """Draw whose text stood where, prefill times, limits, and the run's course, as far as there is anything to draw."""
    drawn = (_matrix(facts), _prefill(facts), _limits(facts), _timeline(facts))
    return tuple(each for each in drawn if each is not None)


def _timeline(facts: Facts) -> Drawn | None:
    run, began = facts.report.run, facts.report.run.started_at
    bars = []
    for probe in facts.report.probes:
        trace = probe.trace
        if trace.sent_at is None:
            continue
        start = max(0.0, (trace.sent_at - began).total_seconds())
        end = start + (trace.end_seconds or trace.last_token_seconds or probe.first_token_seconds or 0.0)
        first = None if probe.first_token_seconds is None else start + probe.first_token_seconds
        bars.append(
            Bar(lane=probe.tenant, label=probe.label, start=start, end=end, first_token=first, outcome=probe.outcome)
        )
    if not bars:
        return None
    return Drawn(
        ident="timeline",
        title="Timeline of the run",
        about="Each bar is one request, from its start to the end of its answer, drawn to scale.",
        picture=draw_timeline(f"timeline-{_ident(run.run_id)}", bars, (facts.report.ended_at - began).total_seconds()),
        headings=("request", "tenant", "starts", "first token", "ends", "outcome"),
        rows=tuple(
            (
                bar.label,
                bar.lane,
                f"{bar.start:,.3f} s",
                "" if bar.first_token is None else f"{bar.first_token:,.3f} s",
                f"{bar.end:,.3f} s",
                bar.outcome.value,
            )
            for bar in bars[:MOST_ROWS]
        ),
        left_out=max(0, len(bars) - MOST_ROWS),
    )


def _prefill(facts: Facts) -> Drawn | None:
    points = [
        Point(
            label=probe.label,
            tokens=tokens,
            seconds=probe.first_token_seconds,
            outcome=probe.outcome,
            is_anchor=probe.role == Role.ANCHOR.value,
        )
        for probe in facts.report.probes
        if (tokens := probe.prompt_tokens or probe.planned_tokens) and probe.first_token_seconds
    ]
    if not points:
        return None
    floor = floor_line(facts, points)
    return Drawn(
        ident="prefill",
        title="Prefill time against prompt tokens",
        about=(
            "Both axes count in equal ratios. Anchors are verified prefills of this run. "
            + (_FLOOR if floor else _NO_FLOOR)
        ),
        picture=draw_prefill(f"prefill-{_ident(facts.report.run.run_id)}", points, floor),
        headings=("request", "prompt tokens", "first token", "anchor", "outcome"),
        rows=tuple(
            (
                point.label,
                f"{point.tokens:,}",
                seconds_words(point.seconds),
                "yes" if point.is_anchor else "",
                point.outcome.value,
            )
            for point in points[:MOST_ROWS]
        ),
        left_out=max(0, len(points) - MOST_ROWS),
    )


def floor_line(facts: Facts, points: Iterable[Point]) -> tuple[tuple[int, float], ...]:
    """The floor as it stood at the run's end, from the shortest prompt that it is claimed for to the longest sent."""
    anchors, quickest = _anchors(facts.report.probes)
    bound = facts.report.run.campaign.target.physical_bound
    verified = [size for size, timings in anchors.items() if len(timings) >= LEAST_TIMINGS]
    longest = max((point.tokens for point in points), default=0)
    shortest = 1 if bound is not None else min(verified, default=longest) + 1
    if shortest >= longest:
        return ()
    ratio = (longest / shortest) ** (1.0 / (FLOOR_POINTS - 1))
    sizes = sorted({round(shortest * ratio**step) for step in range(FLOOR_POINTS)})
    floors = ((size, floor_for(size, anchors=anchors, fixed_seconds=quickest, bound=bound)) for size in sizes)
    return tuple((size, floor.seconds) for size, floor in floors if floor is not None and floor.seconds > 0.0)


def _anchors(probes: Iterable[ProbeSummary]) -> tuple[Mapping[int, tuple[float, ...]], float | None]:
    """Timings of sound answers, as the detector takes them: anchors by their size, and the quickest of all."""
    anchors: dict[int, tuple[float, ...]] = collections.defaultdict(tuple)
    quickest: float | None = None
    for probe in probes:
        seconds, trace = probe.first_token_seconds, probe.trace
        is_sound = probe.answer is Answer.SERVED_FULL and probe.outcome.rank < Outcome.SUSPECT.rank
        if seconds is None or not is_sound or not trace.is_stream or not trace.is_timing_trusted:
            continue
        quickest = seconds if quickest is None else min(quickest, seconds)
        size = probe.planned_tokens or probe.prompt_tokens
        if probe.role == Role.ANCHOR.value and size and not trace.cached_tokens:
            anchors[size] = (*anchors[size], seconds)
    return anchors, quickest


def _matrix(facts: Facts) -> Drawn | None:
    seen: dict[tuple[str, str], list[float]] = collections.defaultdict(list)
    for finding in facts.report.findings:
        asker = facts.probes.get(finding.probe_label)
        if asker is None or finding.outcome.rank < Outcome.SUSPECT.rank:
            continue
        for each in attributions(facts.report, finding):
            seen[each.tenant_name or STRANGER, asker.tenant].append(each.evidence_bits)
    tenants = list(facts.report.tenant_names.values())
    donors = [*tenants, *sorted({donor for donor, _ in seen} - set(tenants))]
    askers = [*tenants, *sorted({asker for _, asker in seen} - set(tenants))]
    if not tenants:
        return None
    cells = [
        Cell(donor=donor, asker=asker, sightings=len(bits), bits=max(bits)) for (donor, asker), bits in seen.items()
    ]
    every = [
        (donor, asker, f"{len(seen.get((donor, asker), ())):,}") for donor, asker in itertools.product(donors, askers)
    ]
    return Drawn(
        ident="matrix",
        title="Whose text stood in whose answers",
        about="Rows are tenants whose text came out, columns are those who were answered with it.",
        picture=draw_matrix(f"matrix-{_ident(facts.report.run.run_id)}", donors, askers, cells),
        headings=("text of", "in the answers to", "sightings"),
        rows=tuple(every[:MOST_ROWS]),
        left_out=max(0, len(every) - MOST_ROWS),
    )


def _limits(facts: Facts) -> Drawn | None:
    marks = limit_marks(facts)
    dots = [
        Dot(tokens=tokens, outcome=probe.outcome)
        for probe in facts.report.probes
        if (tokens := probe.planned_tokens or probe.prompt_tokens)
    ]
    if not marks:
        return None
    return Drawn(
        ident="limits",
        title="Limits in prompt tokens",
        about="What the configuration advertises, what refusals stated, and what this run found.",
        picture=draw_limits(f"limits-{_ident(facts.report.run.run_id)}", marks, dots),
        headings=("limit", "prompt tokens", "known from"),
        rows=tuple((mark.name, f"{mark.tokens:,}", mark.kind.value) for mark in marks),
    )


def limit_marks(facts: Facts) -> tuple[Mark, ...]:
    """Name the limits that are known: advertised, stated by refusals, and found."""
    target, limits = facts.report.run.campaign.target, facts.report.limits
    stated = sorted({limit for probe in facts.report.probes for limit in probe.trace.stated_limits if limit > 0})
    known = (
        ("context advertised", target.context_tokens or None, MarkKind.ADVERTISED),
        ("prefill pool configured", target.prefill_pool_tokens, MarkKind.ADVERTISED),
        ("decode pool configured", target.decode_pool_tokens, MarkKind.ADVERTISED),
        *(("stated by a refusal", limit, MarkKind.ENFORCED) for limit in stated[:4]),
        ("smallest prompt rejected", limits.smallest_rejected, MarkKind.ENFORCED),
        ("largest prompt served soundly", limits.largest_served, MarkKind.FOUND),
        ("first length served wrongly", limits.first_wrong, MarkKind.WRONG),
    )
    return tuple(Mark(name=name, tokens=tokens, kind=kind) for name, tokens, kind in known if tokens)


def _ident(run_id: str) -> str:
    """A part of an id: several runs may stand on one page."""
    return (
        "".join(character for character in run_id.lower() if character.isascii() and character.isalnum())[:40] or "run"
    )
