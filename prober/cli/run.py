"""`prober run`: one campaign, now."""

import asyncio
import pathlib
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console

from prober.cli.estimate import print_estimate
from prober.cli.exits import FailOn
from prober.cli.interrupts import run_interruptible
from prober.cli.options import DEFAULT_CONFIG, ConfigFile, LogFormatOption, LogLevelOption, load, log_for
from prober.cli.outputs import ReportsOption, complaining, outputs_of, require_writable, uses_stdout, write_reports
from prober.cli.progress import ProgressDisplay
from prober.cli.terminal import open_console
from prober.config.schema import Settings
from prober.domain.campaign import Campaign, Trigger
from prober.domain.errors import ConfigError, LedgerError
from prober.domain.verdict import RunReport
from prober.report.console import print_facts, print_report
from prober.report.facts import facts_of
from prober.telemetry.exposition import MetricsBook
from prober.telemetry.logs import Log, stdlib_routed
from prober.wiring.campaigns import campaign_of
from prober.wiring.prober import open_prober


def run(  # noqa: PLR0913 - a command line's options
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    target: Annotated[
        str | None, typer.Option(help="Target of the configuration; may be left out if it is one.")
    ] = None,
    scenario: Annotated[list[str] | None, typer.Option(help="Only these scenarios, in this order.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Hard cap on prompt and answer tokens.")] = None,
    trigger: Annotated[Trigger, typer.Option(help="What this run is for; bounds never mix triggers.")] = Trigger.MANUAL,
    fail_on: Annotated[FailOn, typer.Option(help="From which outcome on the exit code is 1.")] = FailOn.VIOLATION,
    json_report: Annotated[str | None, typer.Option("--json", metavar="FILE", help="As --report json=FILE.")] = None,
    report: ReportsOption = None,
    metrics: Annotated[
        pathlib.Path | None, typer.Option(metavar="FILE", help="Metrics for node_exporter's textfile collector.")
    ] = None,
    estimate_only: Annotated[
        bool, typer.Option("--estimate", help="Print what it would send and cost; send nothing.")
    ] = False,
    log_format: LogFormatOption = None,
    log_level: LogLevelOption = None,
) -> None:
    """Run a campaign against one target and print its verdict."""
    settings = load(config)
    campaign = campaign_of(settings, only_target(settings, target), scenarios=scenario, max_run_tokens=max_tokens)
    outputs = outputs_of(report, json_report)
    require_writable(metrics)
    console = open_console(stderr=uses_stdout(outputs))
    if estimate_only:
        asyncio.run(print_estimate(console, settings, campaign))
        raise typer.Exit
    log = log_for(settings, log_format, log_level)
    display = ProgressDisplay(console)
    try:
        with stdlib_routed(log), display:
            ended, book = run_interruptible(perform(settings, campaign, trigger, log, display))
    except KeyboardInterrupt:
        _tell_interrupted(display, console)
        raise
    except LedgerError:
        _show_unstored(display, console)
        raise
    facts = facts_of(ended, fail_on)
    print_facts(console, facts)
    write_reports(outputs, facts)
    if metrics is not None:
        with complaining(metrics):
            book.write_textfile(metrics)
    raise typer.Exit(facts.exit)


def _tell_interrupted(display: ProgressDisplay, console: Console) -> None:
    if display.is_waiting:
        _show_unstored(display, console)
    typer.echo(
        "interrupted while the database was gone: what is told above may not stand in it"
        if display.is_waiting
        else "interrupted; the run stands closed in the database, with all that it had found",
        err=True,
    )


def _show_unstored(display: ProgressDisplay, console: Console) -> None:
    """Print what a run saw that the database did not take: nobody will read it there."""
    if display.report is not None:
        console.print("[bold]Not in the database, or not all of it:[/]", highlight=False)
        print_report(console, display.report)


async def perform(
    settings: Settings,
    campaign: Campaign,
    trigger: Trigger,
    log: Log,
    display: ProgressDisplay,
    facts: Mapping[str, str] | None = None,
) -> tuple[RunReport, MetricsBook]:
    """Execute a campaign with the telemetry of its target alone; `facts` are a rollout's. Gives report and metrics."""
    # A textfile with idle series of other targets would, at every run of this one, reset what their own runs wrote.
    name = campaign.target.name
    of_this_target = settings.model_copy(update={"targets": {name: settings.targets[name]}})
    async with open_prober(of_this_target, log=log, watchers=[display]) as prober:
        return await prober.run(campaign, trigger, facts=facts), prober.metrics


def only_target(settings: Settings, target: str | None) -> str:
    """Name the target that is meant: the one given, else the only one.

    Raises:
        ConfigError: there are several, and none is picked by chance.
    """
    if target is not None:
        return target
    if len(settings.targets) == 1:
        return next(iter(settings.targets))
    raise ConfigError(f"say which target with --target: {', '.join(settings.targets)}")
