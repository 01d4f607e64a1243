"""The few requests that show a finding again, as a program that needs nothing of ours: no key, no database."""

import dataclasses
import datetime as dt
import importlib.resources
import json
import re
from collections.abc import Sequence

from prober.domain.answer import Answer
from prober.domain.finding import Finding
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from prober.domain.verdict import ProbeSummary
from prober.prompt.alphabet import WORDS
from prober.report.facts import Facts

MOST_STEPS = 12
WORDS_USED = 256
"""Five of them in a row stand in another prompt by chance once in 2**40."""

BY_LENGTH = frozenset(
    {
        "baseline",
        "seed_and_probe",
        "limit_sweep",
        "abort_storm",
        "replay",
        "park_and_return",
        "parallel_answers",
        "drift",
        "discover",
        "stream_contract",
    }
)
"""Scenarios whose requests differ by tenant, length, time and hang-up alone; what others ask for is not in a report."""

_LEAST_GAP = dt.timedelta(milliseconds=1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request to send."""

    label: str
    tenant: str
    text: str
    """Names the prompt: steps of one name send one text."""
    tokens: int
    max_tokens: int
    is_stream: bool
    wave: int
    """Steps of a wave are in flight together."""
    offset_seconds: float
    """After its wave began."""
    hang_up_seconds: float | None
    """When to close the connection on purpose, after the request; None: never."""
    expectation: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What to send, or why nothing can be said."""

    finding: Finding | None
    steps: tuple[Step, ...]
    why_not: str = ""


def reproduction_of(facts: Facts) -> Reproduction:
    """Choose the requests: the one that was answered wrongly, those whose text came out, and what went before them."""
    finding = facts.leak or next(
        (each for group in facts.groups for each in group.findings if each.probe_label in facts.probes), None
    )
    if finding is None or finding.outcome.rank < Outcome.SUSPECT.rank:
        return Reproduction(finding=None, steps=(), why_not="This run has no finding about a request to send again.")
    last = facts.probes.get(finding.probe_label)
    if last is None:
        return Reproduction(finding=finding, steps=(), why_not="The request of this finding is no longer kept.")
    if last.scenario not in BY_LENGTH:
        why = f"Scenario {last.scenario} asks for more than lengths and times: prober run --scenario {last.scenario}"
        return Reproduction(finding=finding, steps=(), why_not=why)
    chosen = _chosen(facts, finding, last)
    waves = _waves(chosen)
    steps = tuple(_step(probe, waves[place], chosen) for place, probe in enumerate(chosen) if _tokens(probe))
    return Reproduction(finding=finding, steps=steps)


def _chosen(facts: Facts, finding: Finding, last: ProbeSummary) -> list[ProbeSummary]:
    probes = list(facts.report.probes)
    place = probes.index(last)
    donors = {facts.report.donor_labels.get(str(sighting.canary)) for sighting in finding.sightings}
    before = [probe for probe in probes[:place] if probe.scenario == last.scenario]
    # What filled the pools may be another scenario's.
    of_others = [probe for probe in probes[:place] if probe.label in donors and probe not in before]
    seeds = [probe for probe in before if probe.role == Role.DONOR.value or probe.label in donors]
    beside = [probe for probe in probes if probe.scenario == last.scenario and _overlap(probe, last)]
    wanted = [*of_others, *seeds, *before[-MOST_STEPS:], *beside]
    by_weight = sorted(
        {probe.label: probe for probe in wanted if probe.label != last.label}.values(),
        key=lambda probe: (probe.label not in donors, probe not in beside, -probes.index(probe)),
    )
    return sorted([*by_weight[: MOST_STEPS - 1], last], key=probes.index)


def _span(probe: ProbeSummary) -> tuple[dt.datetime, dt.datetime] | None:
    trace = probe.trace
    if trace.sent_at is None:
        return None
    return trace.sent_at, trace.sent_at + dt.timedelta(seconds=trace.end_seconds or probe.first_token_seconds or 0.0)


def _overlap(one: ProbeSummary, other: ProbeSummary) -> bool:
    spans = _span(one), _span(other)
    if spans[0] is None or spans[1] is None:
        return False
    return spans[0][0] < spans[1][1] - _LEAST_GAP and spans[1][0] < spans[0][1] - _LEAST_GAP


def _waves(chosen: Sequence[ProbeSummary]) -> list[int]:
    """Number the groups of requests that were in flight together."""
    waves: list[int] = []
    for place, probe in enumerate(chosen):
        is_together = any(
            _overlap(probe, earlier) for earlier, wave in zip(chosen[:place], waves, strict=True) if wave == waves[-1]
        )
        waves.append(waves[-1] if is_together else (waves[-1] + 1 if waves else 1))
    return waves


def _step(probe: ProbeSummary, wave: int, chosen: Sequence[ProbeSummary]) -> Step:
    waves = _waves(chosen)
    fellows = [each.trace.sent_at for each, number in zip(chosen, waves, strict=True) if number == wave]
    began = min((sent for sent in fellows if sent is not None), default=None)
    sent_at = probe.trace.sent_at
    offset = 0.0 if began is None or sent_at is None else (sent_at - began).total_seconds()
    return Step(
        label=probe.label,
        tenant=probe.tenant,
        text=probe.canary,
        tokens=_tokens(probe),
        max_tokens=probe.trace.max_output_tokens or 64,
        is_stream=probe.trace.is_stream or probe.first_token_seconds is not None or probe.trace.refusal is not None,
        wave=wave,
        offset_seconds=round(offset, 3),
        hang_up_seconds=_hang_up(probe),
        expectation=probe.expectation,
    )


def _tokens(probe: ProbeSummary) -> int:
    return probe.planned_tokens or probe.prompt_tokens or 0


def _hang_up(probe: ProbeSummary) -> float | None:
    if probe.answer is not Answer.ABANDONED:
        return None
    return round(probe.trace.end_seconds or 0.05, 3)


def key_variable(tenant: str) -> str:
    """Environment variable from which the program takes a tenant's credential."""
    return "KEY_" + re.sub(r"[^A-Z0-9]", "_", tenant.upper())


def render(facts: Facts) -> str:
    """Render the program, Python 3.9 or newer; where there is nothing to send, one that says why and exits with 3."""
    found = reproduction_of(facts)
    run, target = facts.report.run, facts.report.run.campaign.target
    plan = {
        "run": run.run_id,
        "model": target.model,
        "dialect": target.dialect,
        "finding": "" if found.finding is None else f"{found.finding.outcome.value} {found.finding.reason.value}",
        "why_not": found.why_not,
        "words": list(WORDS[:WORDS_USED]) if found.steps else [],
        "steps": [dataclasses.asdict(step) for step in found.steps],
    }
    program = (
        importlib.resources.files("prober.report").joinpath("data", "reproduce.py.txt").read_text(encoding="utf-8")
    )
    # ASCII JSON within a literal of Python's: no value can end it.
    return program.replace("PLAN = json.loads('{}')", f"PLAN = json.loads({json.dumps(plan, ensure_ascii=True)!r})", 1)
