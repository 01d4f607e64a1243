"""`prober discover`: where a target's length limits really lie."""

import json
from typing import Annotated

import typer
from rich.console import Console

from prober.cli.exits import settle
from prober.cli.interrupts import run_interruptible
from prober.cli.options import DEFAULT_CONFIG, ConfigFile, LogFormatOption, LogLevelOption, load, log_for
from prober.cli.progress import ProgressDisplay
from prober.cli.run import only_target, perform
from prober.cli.terminal import open_console
from prober.domain.campaign import Trigger
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.report.console import STYLES, counted, print_report, spending_words
from prober.telemetry.logs import stdlib_routed
from prober.wiring.campaigns import campaign_of

SCENARIO = "discover"
SCHEMA = "isolation-prober/limits/1"
"""Changes only when a field is removed or changes its meaning; new fields may appear at any time."""


def discover(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="Target of the configuration; may be left out if it is one.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Hard cap on prompt and answer tokens.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    log_format: LogFormatOption = None,
    log_level: LogLevelOption = None,
) -> None:
    """Find the longest prompt that a target serves soundly, to one page, and what it does beyond."""
    settings = load(config)
    campaign = campaign_of(settings, only_target(settings, target), scenarios=[SCENARIO], max_run_tokens=max_tokens)
    console = open_console(stderr=as_json)
    log = log_for(settings, log_format, log_level)
    with stdlib_routed(log), ProgressDisplay(console) as display:
        report, _ = run_interruptible(perform(settings, campaign, Trigger.MANUAL, log, display))
    if report.verdict.outcome is not Outcome.CLEAN:
        print_report(console, report)
    if as_json:
        typer.echo(json.dumps(_facts(report), indent=2))
    else:
        _print_map(console, report)
    raise typer.Exit(settle(report.verdict.outcome))


def _print_map(console: Console, report: RunReport) -> None:
    """Print what is known of each limit, and what it cost to know."""
    limits, target = report.limits, report.run.campaign.target
    console.print(f"{target.name}: context of {target.context_tokens:,} tokens advertised", markup=False)
    rows = (
        ("largest prompt served soundly", limits.largest_served),
        ("smallest prompt rejected", limits.smallest_rejected),
        ("first length served wrongly", limits.first_wrong),
    )
    for name, tokens in rows:
        console.print(f"  {name}: {'none seen' if tokens is None else f'{tokens:,} tokens'}", markup=False)
    console.print(f"  {counted(_probes(report), 'probe')} of the search; in all {spending_words(report.spent)}")
    outcome = report.verdict.outcome
    console.print(f"  verdict: [{STYLES[outcome]}] {outcome.name} [/]")


def _facts(report: RunReport) -> dict[str, object]:
    limits, campaign = report.limits, report.run.campaign
    return {
        "schema": SCHEMA,
        "run": report.run.run_id,
        "target": campaign.target.name,
        "build": campaign.target.build,
        "context_tokens": campaign.target.context_tokens,
        "largest_served": limits.largest_served,
        "smallest_rejected": limits.smallest_rejected,
        "first_wrong": limits.first_wrong,
        "probes": _probes(report),
        "requests": report.spent.requests,
        "tokens": report.spent.tokens,
        "outcome": report.verdict.outcome.value,
        "reasons": [reason.value for reason in report.verdict.reasons],
    }


def _probes(report: RunReport) -> int:
    """Probes of the search, its verification and timings included; the calibration's are not its own."""
    return sum(probe.scenario == SCENARIO for probe in report.probes)
