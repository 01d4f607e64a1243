"""`prober run`: one campaign, now."""

import asyncio
import os
import pathlib
import sys
from typing import Annotated

import typer
from rich.console import Console

from prober.cli.exits import FailOn, settle
from prober.cli.options import DEFAULT_CONFIG, ConfigFile, LogFormatOption, LogLevel, LogLevelOption, load, log_for
from prober.cli.progress import ProgressDisplay
from prober.config.schema import Settings
from prober.domain.campaign import Campaign, Trigger
from prober.domain.errors import ConfigError
from prober.domain.verdict import RunReport
from prober.plan.rehearsal import estimate
from prober.report.console import print_report, spending_words
from prober.report.json_report import render
from prober.telemetry.logs import Log, LogFormat, stdlib_routed
from prober.wiring.campaigns import campaign_of
from prober.wiring.prober import open_prober

STDOUT = "-"


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
    json_report: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="JSON report; - for stdout.")
    ] = None,
    metrics: Annotated[
        pathlib.Path | None, typer.Option(metavar="FILE", help="Metrics for node_exporter's textfile collector.")
    ] = None,
    estimate_only: Annotated[bool, typer.Option("--estimate", help="Print the estimate and send nothing.")] = False,
    log_format: LogFormatOption = LogFormat.CONSOLE,
    log_level: LogLevelOption = LogLevel.WARNING,
) -> None:
    """Run a campaign against one target and print its verdict."""
    settings = load(config)
    campaign = campaign_of(settings, _only(settings, target), scenarios=scenario, max_run_tokens=max_tokens)
    console = Console(stderr=json_report == STDOUT)
    if estimate_only:
        console.print(f"{campaign.target.name}: {spending_words(estimate(campaign))}", highlight=False)
        raise typer.Exit
    for file in (json_report, metrics):
        _require_writable(file)
    log = log_for(settings, log_format, log_level)
    with stdlib_routed(log), ProgressDisplay(console) as display:
        report = asyncio.run(_perform(settings, campaign, trigger, log, display, metrics))
    print_report(console, report)
    if json_report is not None:
        _write(json_report, render(report))
    raise typer.Exit(settle(report.verdict.outcome, fail_on))


async def _perform(
    settings: Settings,
    campaign: Campaign,
    trigger: Trigger,
    log: Log,
    display: ProgressDisplay,
    metrics: pathlib.Path | None,
) -> RunReport:
    async with open_prober(settings, log=log, watchers=[display]) as prober:
        report = await prober.run(campaign, trigger)
        if metrics is not None:
            prober.metrics.write_textfile(metrics)
        return report


def _only(settings: Settings, target: str | None) -> str:
    if target is not None:
        return target
    if len(settings.targets) == 1:
        return next(iter(settings.targets))
    raise ConfigError(f"say which target with --target: {', '.join(settings.targets)}")


def _require_writable(file: str | pathlib.Path | None) -> None:
    """Refuse before the run, which may cost millions of tokens, not after it."""
    if file in (None, STDOUT):
        return
    path = pathlib.Path(str(file))
    if path.is_dir() or not path.parent.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"{path} cannot be written; name a file in a folder that exists and is yours")


def _write(file: str, text: str) -> None:
    if file == STDOUT:
        sys.stdout.write(text)
    else:
        pathlib.Path(file).write_text(text, encoding="utf-8")
