"""Markdown for a pull request: what it found, how sure, and how to see it again; bounded, so that it fits a comment."""

import shlex
from collections.abc import Iterator, Sequence

from prober.domain.outcome import Outcome
from prober.report.advice import advice_on, note_on
from prober.report.facts import KINDS_NAMED, Facts, Group
from prober.report.markdown_text import block, code, link, prose, table
from prober.report.wording import MEANINGS, bound_words, certainty, count_words, counted, spending_words

MOST_CHARACTERS = 60_000
"""GitHub takes 65,536 in a comment."""
MOST_GROUPS = 20
MOST_SCENARIOS = 64
_SOURCES_NAMED = 4

SIGNS = {Outcome.VIOLATION: "❌", Outcome.SUSPECT: "⚠️", Outcome.INCONCLUSIVE: "❔", Outcome.CLEAN: "✅"}


def render(facts: Facts) -> str:
    """Render, with the most telling part first: what does not fit is cut from the end."""
    return bounded(_parts(facts), MOST_CHARACTERS)


def bounded(parts: Iterator[str], most: int) -> str:
    """Join parts as long as they fit, and say so where one does not; a part is never cut in two."""
    note = "The rest is left out: the JSON report has all of it."
    taken: list[str] = []
    room = most - len(note) - 2
    for part in parts:
        room -= len(part) + 2
        if room < 0:
            return "\n\n".join([*taken, note]) + "\n"
        taken.append(part)
    return "\n\n".join(taken) + "\n"


def _parts(facts: Facts) -> Iterator[str]:
    yield f"## {SIGNS[facts.outcome]} {facts.outcome.name}: {code(facts.target)}"
    yield f"{MEANINGS[facts.outcome].capitalize()}."
    if facts.leak_sentence:
        yield f"**{prose(facts.leak_sentence)}**"
    yield table(("", ""), _summary(facts))
    if facts.kinds:
        yield "### Suspected kinds of fault"
        yield "\n".join(kind_lines(facts))
    if facts.groups:
        yield "### Findings"
        yield from (_group(group) for group in facts.groups[:MOST_GROUPS])
        if len(facts.groups) > MOST_GROUPS:
            yield f"{counted(len(facts.groups) - MOST_GROUPS, 'further reason')} left out."
    yield "### Scenarios"
    yield table(("scenario", "outcome", "probes", "conclusive", "clean", "reasons"), _scenarios(facts))
    if len(facts.scenarios) > MOST_SCENARIOS:
        yield f"{counted(len(facts.scenarios) - MOST_SCENARIOS, 'further scenario')} left out."
    yield "### See it again"
    yield block("\n".join(commands(facts)), "console")


def _summary(facts: Facts) -> list[tuple[str, str]]:
    report, target = facts.report, facts.report.run.campaign.target
    rows = [
        ("reasons", ", ".join(code(reason.value) for reason in report.verdict.reasons)),
        ("counts", prose(count_words(report.verdict))),
        ("bound", prose(bound_words(report.verdict))),
        ("spent", prose(spending_words(report.spent))),
        ("model", code(target.model)),
        ("build", code(target.build)),
        ("rollout", ", ".join(f"{code(name)} {code(value)}" for name, value in report.run.facts.items())),
        ("run", f"{code(report.run.run_id)}, {report.run.trigger.value}, {report.run.started_at:%Y-%m-%d %H:%M:%S}Z"),
        ("exit code", str(facts.exit.value)),
    ]
    return [(name, value) for name, value in rows if value]


def kind_lines(facts: Facts) -> list[str]:
    """Suspected kinds with the public reports of their like."""
    lines = []
    for kind, number in facts.kinds:
        sources = note_on(kind).sources[:_SOURCES_NAMED]
        known = "; as in " + ", ".join(link(each.name, each.url) for each in sources) if sources else ""
        lines.append(f"- **{kind.value}, {prose(kind.title)}**: named by {counted(number, 'finding')}{known}")
    return lines


def _group(group: Group) -> str:
    strongest = group.strongest
    lines = [
        f"- **{group.outcome.value}** {code(group.reason.value)}: {prose(group.where)}",
        f"  {prose(strongest.message)}",
    ]
    if certainty(strongest.evidence_bits):
        lines.append(f"  {prose(certainty(strongest.evidence_bits))}.")
    if strongest.kinds:
        named = [prose(f"{kind.title} ({kind.value})") for kind in strongest.kinds[:KINDS_NAMED]]
        lines.append(f"  Suspected: {' or '.join(named)}.")
    lines.append(f"  First: {prose(advice_on(group.reason).first)}")
    return "\n".join(lines)


def _scenarios(facts: Facts) -> list[Sequence[str]]:
    return [
        (
            code(scenario.name),
            scenario.word if scenario.outcome is None else f"{SIGNS[scenario.outcome]} {scenario.word}",
            f"{scenario.probes:,}",
            f"{scenario.conclusive:,}",
            f"{scenario.clean:,}",
            ", ".join(code(group.reason.value) for group in scenario.groups),
        )
        for scenario in facts.scenarios[:MOST_SCENARIOS]
    ]


def commands(facts: Facts) -> list[str]:
    """Commands that show the findings, and run again what found them."""
    run, target = shlex.quote(facts.report.run.run_id), shlex.quote(facts.target)
    bad = [scenario.name for scenario in facts.scenarios if scenario.groups and scenario.name != "calibration"]
    chosen = "".join(f" --scenario {shlex.quote(name)}" for name in bad)
    lines = [f"$ prober run --target {target}{chosen}", f"$ prober findings list --run {run}"]
    if facts.leak is not None:
        lines.append(f"$ prober report {run} --format vendor --output vendor.md")
    return lines
