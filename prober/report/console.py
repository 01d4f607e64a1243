"""The console report: reads well on a terminal, and in a pipe without colour."""

import io

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from prober.domain.finding import Finding
from prober.domain.outcome import Outcome
from prober.domain.verdict import LimitMap, RunReport
from prober.report.facts import KINDS_NAMED, Facts, Group, facts_of
from prober.report.wording import bound_words, count_words, counted, spending_words

__all__ = ["STYLES", "counted", "print_facts", "print_report", "render", "spending_words"]

STYLES = {
    Outcome.VIOLATION: "bold white on red",
    Outcome.SUSPECT: "bold black on yellow",
    Outcome.INCONCLUSIVE: "bold black on cyan",
    Outcome.CLEAN: "bold black on green",
}
_WIDTH = 120


def print_report(console: Console, report: RunReport) -> None:
    """Print verdict, whose text came out, reasons, limits, spending."""
    print_facts(console, facts_of(report))


def render(facts: Facts) -> str:
    """Print into a file: no colour, no control code."""
    sink = io.StringIO()
    print_facts(Console(file=sink, width=_WIDTH, no_color=True, highlight=False, force_terminal=False), facts)
    return sink.getvalue()


def print_facts(console: Console, facts: Facts) -> None:
    """Print a report's facts."""
    console.print(Text.assemble(Text(f" {facts.outcome.name} ", style=STYLES[facts.outcome]), f" {facts.headline}"))
    for rollout in _rollout(facts):
        console.print(Padding(Text(rollout), (0, 0, 0, 2)))
    if facts.leak_sentence:
        console.print(Padding(Text(facts.leak_sentence, style="bold"), (1, 0, 0, 2)))
    for group in facts.groups:
        console.print(Padding(_group_heading(group), (1, 0, 0, 2)))
        console.print(Padding(Text(group.strongest.message + _suspicion(group.strongest)), (0, 0, 0, 6)))
    console.print(Padding(_counts(facts), (1, 0, 0, 2)))


def _rollout(facts: Facts) -> list[str]:
    told = facts.report.run.facts
    return [f"rollout: {', '.join(f'{name} {value}' for name, value in told.items())}"] if told else []


def _group_heading(group: Group) -> Text:
    return Text.assemble((f"{group.outcome.value} {group.reason.value}", "bold"), f": {group.where}")


def _suspicion(finding: Finding) -> str:
    """What kind of fault it may be: the two likeliest."""
    named = " or ".join(f"{kind.title} ({kind.value})" for kind in finding.kinds[:KINDS_NAMED])
    return f"\nSuspected: {named}." if named else ""


def _counts(facts: Facts) -> Text:
    report = facts.report
    bounds = f"estimate {report.estimate.tokens:,}, cap {report.run.campaign.max_run_tokens:,}"
    lines = [count_words(report.verdict), f"spent {spending_words(report.spent)} ({bounds})"]
    if bound_words(report.verdict):
        lines.append(bound_words(report.verdict))
    if facts.missing_probes:
        lines.append(f"{counted(facts.missing_probes, 'probe')} of these no longer kept")
    lines.extend(_limit_lines(report.limits))
    return Text("\n".join(lines))


def _limit_lines(limits: LimitMap) -> list[str]:
    named = (
        ("largest prompt served soundly", limits.largest_served),
        ("smallest prompt rejected", limits.smallest_rejected),
        ("first length served wrongly", limits.first_wrong),
    )
    return [f"{name}: {tokens:,} tokens" for name, tokens in named if tokens is not None]
