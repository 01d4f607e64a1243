"""The console report: reads well on a terminal, and in a pipe without colour."""

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from prober.domain.finding import Finding
from prober.domain.outcome import Outcome
from prober.domain.verdict import LimitMap, RunReport, Spending
from prober.report.attribution import attributions, sentence

STYLES = {
    Outcome.VIOLATION: "bold white on red",
    Outcome.SUSPECT: "bold black on yellow",
    Outcome.INCONCLUSIVE: "bold black on cyan",
    Outcome.CLEAN: "bold black on green",
}
MAX_FINDINGS = 12
"""More of one outcome are counted, not listed; the JSON report has all."""


def print_report(console: Console, report: RunReport) -> None:
    """Print verdict, reasons, whose text came out, limits, spending."""
    console.print(Group(*_parts(report)))


def _parts(report: RunReport) -> list[RenderableType]:
    parts: list[RenderableType] = [_headline(report)]
    leaks = [finding for finding in report.findings if finding.sightings and finding.outcome is Outcome.VIOLATION]
    if leaks:
        parts.append(_leaks(report, leaks))
    notable = [finding for finding in report.findings if finding.outcome is not Outcome.CLEAN]
    if notable:
        parts.append(_findings_table(notable))
    parts.append(Padding(_counts(report), (0, 0, 0, 2)))
    return parts


def _headline(report: RunReport) -> Text:
    verdict = report.verdict
    line = Text()
    line.append(f" {verdict.outcome.name} ", style=STYLES[verdict.outcome])
    reasons = ", ".join(reason.value for reason in verdict.reasons) or "nothing to report"
    return line.append(f" {report.run.campaign.target.name}: {reasons}")


def _leaks(report: RunReport, leaks: list[Finding]) -> RenderableType:
    tenants = {probe.label: probe.tenant for probe in report.probes}
    lines = []
    for finding in leaks[:MAX_FINDINGS]:
        who = f"The answer to tenant {tenants.get(finding.probe_label, '?')}'s request {finding.probe_label} held"
        lines.extend(f"{who} {sentence(attribution)}." for attribution in attributions(report, finding)[:3])
    return Padding(Text("\n".join(lines)), (1, 2))


def _findings_table(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    for heading in ("outcome", "reason", "probe"):
        table.add_column(heading, no_wrap=True)
    table.add_column("what was seen", ratio=1)
    for finding in findings[:MAX_FINDINGS]:
        table.add_row(finding.outcome.value, finding.reason.value, finding.probe_label or "(run)", finding.message)
    if len(findings) > MAX_FINDINGS:
        table.add_row("", "", "", f"and {len(findings) - MAX_FINDINGS} more, all in the JSON report")
    return table


def _counts(report: RunReport) -> Text:
    verdict = report.verdict
    bounds = f"estimate {report.estimate.tokens:,}, cap {report.run.campaign.max_run_tokens:,}"
    lines = [
        f"{verdict.probes} probes, {verdict.conclusive} conclusive, {verdict.clean} clean",
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
    return f"{spending.requests:,} requests, {spending.tokens:,} tokens"
