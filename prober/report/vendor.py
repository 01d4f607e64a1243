"""What an operator hands upstream: symptom, whose text came from where, how sure, ids, timeline, a reproduction.

Markdown, complete in itself, and without a word of any answer: every prompt was ours.
"""

from collections.abc import Iterator, Sequence

from prober.domain.finding import Finding
from prober.domain.outcome import Outcome
from prober.domain.verdict import ProbeSummary
from prober.report import reproduction
from prober.report.attribution import attributions, sentence
from prober.report.drawing import limit_marks
from prober.report.facts import Facts
from prober.report.markdown import bounded, kind_lines
from prober.report.markdown_text import block, code, prose, table
from prober.report.wording import MEANINGS, bound_words, certainty, count_words, seconds_words

MOST_CHARACTERS = 200_000
MOST_LEAKS = 20


def render(facts: Facts) -> str:
    """Render; of a run without a finding to hand over it says so, and what the run shows instead."""
    return bounded(_parts(facts), MOST_CHARACTERS)


def _parts(facts: Facts) -> Iterator[str]:
    target = facts.report.run.campaign.target
    found = reproduction.reproduction_of(facts)
    yield f"# Isolation report: {code(target.model) or code(target.name)}"
    yield prose(symptom(facts, found.finding))
    if found.finding is not None:
        yield from _evidence(facts, found.finding)
    yield "## The server, as seen from outside"
    yield table(("", ""), _server(facts))
    if facts.kinds:
        yield "## Suspected kinds of fault, and public reports of their like"
        yield "\n".join(kind_lines(facts))
    yield "## What was run"
    yield _run(facts)
    yield "## Minimal reproduction"
    yield from _reproduction(facts, found)


def symptom(facts: Facts, finding: Finding | None) -> str:
    """The symptom in a sentence."""
    if finding is None:
        return (
            f"No finding to hand over: the verdict is {facts.outcome.name}, which means that {MEANINGS[facts.outcome]}."
        )
    probe = facts.probes.get(finding.probe_label)
    told = [f"{finding.message.rstrip('.')}."]
    if facts.leak is finding:
        told.insert(0, facts.leak_sentence)
    if probe is not None and probe.status is not None:
        told.append(
            f"The request was answered with HTTP {probe.status} ({probe.answer.value}); "
            f"{'a refusal was due' if probe.expectation == 'reject' else 'it should have been served'}."
        )
    return " ".join(told)


def _evidence(facts: Facts, finding: Finding) -> Iterator[str]:
    probe = facts.probes.get(finding.probe_label)
    yield "## Evidence"
    yield table(("", ""), _rows(_about(finding, probe)))
    leaks = [
        each
        for group in facts.groups
        if group.outcome is Outcome.VIOLATION
        for each in group.findings
        if each.sightings
    ]
    if leaks:
        yield "### Whose text came out"
        yield table(("in the answer to", "request id", "text of", "how sure"), _leaks(facts, leaks[:MOST_LEAKS]))
        if len(leaks) > MOST_LEAKS:
            yield f"{len(leaks) - MOST_LEAKS:,} further cases are left out."
        yield (
            "All prompts were synthetic: each word is keyed to one tenant, one request and one place in it. "
            "The text that came back was attributed by that key, and is not repeated here."
        )
    if probe is not None and probe.trace.headers:
        yield "### Response headers"
        yield table(("header", "value"), [(code(name), code(value)) for name, value in probe.trace.headers.items()])
    yield "### Timeline"
    yield table(
        ("request", "request id", "tenant", "sent", "prompt tokens", "status", "first token", "ended", "answer"),
        _timeline(facts),
    )


def _about(finding: Finding, probe: ProbeSummary | None) -> list[tuple[str, str]]:
    rows = [
        ("finding", f"{finding.outcome.value} {finding.reason.value}"),
        (
            "confirmed",
            "yes: it stands by itself, or was seen again on a fresh request" if finding.is_confirmed else "no",
        ),
        ("how sure", certainty(finding.evidence_bits)),
    ]
    if probe is None:
        return rows
    trace = probe.trace
    return [
        *rows,
        ("request", f"{probe.label} by tenant {probe.tenant}"),
        ("X-Request-Id sent", probe.request_id),
        ("response id", trace.response_id or ""),
        ("sent at", "" if trace.sent_at is None else trace.sent_at.isoformat(timespec="milliseconds")),
        ("prompt tokens, planned", _number(probe.planned_tokens)),
        ("prompt tokens, as reported", _number(probe.prompt_tokens)),
        ("cached tokens, as reported", _number(trace.cached_tokens)),
        ("finish reason", trace.finish_reason or ""),
        ("first token after", seconds_words(probe.first_token_seconds)),
        ("answer", f"{probe.answer_characters:,} characters, SHA-256 {probe.answer_sha256}"),
    ]


def _leaks(facts: Facts, leaks: Sequence[Finding]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for finding in leaks:
        asker = facts.probes.get(finding.probe_label)
        told = attributions(facts.report, finding)
        rows.append(
            (
                code(f"{finding.probe_label} by {asker.tenant}" if asker is not None else finding.probe_label),
                code("" if asker is None else asker.request_id),
                prose("; ".join(sentence(each) for each in told[:3])),
                prose(certainty(finding.evidence_bits)),
            )
        )
    return rows


def _timeline(facts: Facts) -> list[tuple[str, ...]]:
    """The requests that the reproduction sends, else those of the findings."""
    steps = {step.label for step in reproduction.reproduction_of(facts).steps}
    labels = steps or {finding.probe_label for group in facts.groups for finding in group.findings}
    began = facts.report.run.started_at
    rows: list[tuple[str, ...]] = []
    for probe in [probe for probe in facts.report.probes if probe.label in labels][:MOST_LEAKS]:
        sent, ended = probe.trace.sent_at, probe.trace.end_seconds
        start = None if sent is None else (sent - began).total_seconds()
        rows.append(
            (
                code(probe.label),
                code(probe.request_id),
                code(probe.tenant),
                "" if start is None else f"{start:,.3f} s",
                _number(probe.prompt_tokens or probe.planned_tokens),
                _number(probe.status),
                seconds_words(probe.first_token_seconds),
                "" if start is None or ended is None else f"{start + ended:,.3f} s",
                probe.answer.value,
            )
        )
    return rows


def _server(facts: Facts) -> list[tuple[str, str]]:
    target = facts.report.run.campaign.target
    seen: dict[str, dict[str, None]] = {"model reported": {}, "system fingerprint": {}, "server header": {}}
    for probe in facts.report.probes:
        told = (probe.trace.model_reported, probe.trace.system_fingerprint, probe.trace.headers.get("server"))
        for name, value in zip(seen, told, strict=True):
            if value:
                seen[name].setdefault(value)
    rows = [
        ("model asked for", target.model),
        ("dialect", target.dialect),
        ("build", target.build),
        *((name, ", ".join(list(values)[:5])) for name, values in seen.items()),
        ("over-long prompts", f"the operator promises to {target.overlong.value} them"),
        *((mark.name, f"{mark.tokens:,} tokens") for mark in limit_marks(facts)),
        *((f"rollout: {name}", value) for name, value in facts.report.run.facts.items()),
    ]
    return _rows(rows)


def _run(facts: Facts) -> str:
    verdict, run = facts.report.verdict, facts.report.run
    span = f"{run.started_at:%Y-%m-%d %H:%M:%S}Z to {facts.report.ended_at:%Y-%m-%d %H:%M:%S}Z"
    lines = [
        f"Run {run.run_id}, from {span}: verdict {facts.outcome.name}. {count_words(verdict)}.",
        f"Scenarios: {', '.join(f'{each.name} ({each.word})' for each in facts.scenarios)}.",
    ]
    if bound_words(verdict):
        lines.append(f"{bound_words(verdict).capitalize()}.")
    return "\n\n".join(map(prose, lines))


def _reproduction(facts: Facts, found: reproduction.Reproduction) -> Iterator[str]:
    if not found.steps:
        yield prose(found.why_not)
        return
    tenants = list(dict.fromkeys(step.tenant for step in found.steps))
    yield (
        "The program below makes its own harmless text, sends the requests of the timeline in their order, and prints "
        "whose words came back. It needs Python 3.9 or newer, nothing else. Set `TARGET_URL` and, with a credential of "
        f"its own for each tenant, {' and '.join(code(reproduction.key_variable(tenant)) for tenant in tenants)}."
    )
    yield block(reproduction.render(facts), "python")


def _rows(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(prose(name), code(value)) for name, value in pairs if value]


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
