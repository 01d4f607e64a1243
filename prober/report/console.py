"""The console report: reads well on a terminal, and in a pipe without colour."""

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.verdict import LimitMap, RunReport, Spending
from prober.report.attribution import attributions, sentence

STYLES = {
    Outcome.VIOLATION: "bold white on red",
    Outcome.SUSPECT: "bold black on yellow",
    Outcome.INCONCLUSIVE: "bold black on cyan",
    Outcome.CLEAN: "bold black on green",
}
MAX_PROBES_NAMED = 4
"""More probes with one and the same reason are counted, not named; the JSON report has all."""


def print_report(console: Console, report: RunReport) -> None:
    """Print verdict, whose text came out, reasons, limits, spending."""
    console.print(_headline(report))
    notable = [finding for finding in report.findings if finding.outcome is not Outcome.CLEAN]
    leak = _plainest_leak(report, notable)
    if leak is not None:
        console.print(Padding(leak, (1, 0, 0, 2)))
    for group in _groups(notable, report.verdict.reasons):
        console.print(Padding(_group_heading(group), (1, 0, 0, 2)))
        console.print(Padding(Text(_strongest(group).message), (0, 0, 0, 6)))
    console.print(Padding(_counts(report), (1, 0, 0, 2)))


def _headline(report: RunReport) -> Text:
    verdict = report.verdict
    line = Text(f" {verdict.outcome.name} ", style=STYLES[verdict.outcome])
    about = f" {report.run.campaign.target.name}"
    if verdict.outcome is not Outcome.CLEAN:
        about += f": {', '.join(reason.value for reason in verdict.reasons)}"
    return Text.assemble(line, about)


def _plainest_leak(report: RunReport, findings: Sequence[Finding]) -> Text | None:
    """One sentence on whose text came out in whose answer: the most certain case."""
    leaks = [finding for finding in findings if finding.sightings and finding.outcome is Outcome.VIOLATION]
    if not leaks:
        return None
    worst = max(leaks, key=lambda finding: finding.evidence_bits)
    asker = next((probe for probe in report.probes if probe.label == worst.probe_label), None)
    who = f"tenant {asker.tenant}" if asker is not None else "a tenant"
    donor = sentence(attributions(report, worst)[0])
    return Text(f"The answer to {who}'s request {worst.probe_label} held {donor}.", style="bold")


def _groups(findings: Sequence[Finding], weighty: Sequence[Reason]) -> list[list[Finding]]:
    """Group by outcome and reason, in the verdict's own order: what decided it is read first."""

    def kind(finding: Finding) -> tuple[int, int, str]:
        place = weighty.index(finding.reason) if finding.reason in weighty else len(weighty)
        return (-finding.outcome.rank, place, finding.reason.value)

    return [list(members) for _, members in itertools.groupby(sorted(findings, key=kind), key=kind)]


def _group_heading(group: Sequence[Finding]) -> Text:
    first = group[0]
    labels = list(dict.fromkeys(finding.probe_label or "the run as a whole" for finding in group))
    named = ", ".join(labels[:MAX_PROBES_NAMED])
    more = f" and {len(labels) - MAX_PROBES_NAMED} more" if len(labels) > MAX_PROBES_NAMED else ""
    return Text.assemble((f"{first.outcome.value} {first.reason.value}", "bold"), f": {named}{more}")


def _strongest(group: Sequence[Finding]) -> Finding:
    return max(group, key=lambda finding: finding.evidence_bits)


def _counts(report: RunReport) -> Text:
    verdict = report.verdict
    bounds = f"estimate {report.estimate.tokens:,}, cap {report.run.campaign.max_run_tokens:,}"
    lines = [
        f"{counted(verdict.probes, 'probe')}, {verdict.conclusive} conclusive, {verdict.clean} clean",
        f"spent {spending_words(report.spent)} ({bounds})",
    ]
    if verdict.leak_rate_upper95 is not None:
        lines.append(f"leak rate per probe below {verdict.leak_rate_upper95:.2%} with 95 % confidence")
    lines.extend(_limit_lines(report.limits))
    return Text("\n".join(lines))


def _limit_lines(limits: LimitMap) -> list[str]:
    named = (
        ("largest prompt served soundly", limits.largest_served),
        ("smallest prompt rejected", limits.smallest_rejected),
        ("first length served wrongly", limits.first_wrong),
    )
    return [f"{name}: {tokens:,} tokens" for name, tokens in named if tokens is not None]


def spending_words(spending: Spending) -> str:
    """Spending as people say it: `12 requests, 3,456,789 tokens`."""
    return f"{counted(spending.requests, 'request')}, {counted(spending.tokens, 'token')}"


def counted(number: int, noun: str) -> str:
    """Put a number before its noun: `1 probe`, `1,024 probes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
