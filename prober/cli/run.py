"""`prober run`: one campaign, now."""

import contextlib
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from prober.cli.exits import FailOn, settle
from prober.cli.interrupts import run_interruptible
from prober.cli.options import DEFAULT_CONFIG, ConfigFile, LogFormatOption, LogLevelOption, load, log_for
from prober.cli.progress import ProgressDisplay
from prober.cli.terminal import open_console, silence
from prober.config.schema import Settings
from prober.domain.campaign import Campaign, Trigger
from prober.domain.errors import ConfigError, ProberError
from prober.domain.verdict import RunReport
from prober.plan.rehearsal import estimate
from prober.report.console import print_report, spending_words
from prober.report.json_report import render
from prober.telemetry.exposition import MetricsBook
from prober.telemetry.logs import Log, stdlib_routed
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
    log_format: LogFormatOption = None,
    log_level: LogLevelOption = None,
) -> None:
    """Run a campaign against one target and print its verdict."""
    settings = load(config)
    campaign = campaign_of(settings, _only(settings, target), scenarios=scenario, max_run_tokens=max_tokens)
    console = open_console(stderr=json_report == STDOUT)
    if estimate_only:
        console.print(f"{campaign.target.name}: {spending_words(estimate(campaign))}", highlight=False)
        raise typer.Exit
    _require_writable(json_report)
    _require_writable(metrics)
    log = log_for(settings, log_format, log_level)
    try:
        with stdlib_routed(log), ProgressDisplay(console) as display:
            report, book = run_interruptible(_perform(settings, campaign, trigger, log, display))
    except KeyboardInterrupt:
        typer.echo("interrupted; the run stands closed in the database, with all that it had found", err=True)
        raise
    print_report(console, report)
    if json_report is not None:
        _write(json_report, render(report))
    if metrics is not None:
        with _complaining(metrics):
            book.write_textfile(metrics)
    raise typer.Exit(settle(report.verdict.outcome, fail_on))


async def _perform(
    settings: Settings, campaign: Campaign, trigger: Trigger, log: Log, display: ProgressDisplay
) -> tuple[RunReport, MetricsBook]:
    # A textfile with idle series of other targets would, at every run of this one, reset what their own runs wrote.
    name = campaign.target.name
    of_this_target = settings.model_copy(update={"targets": {name: settings.targets[name]}})
    async with open_prober(of_this_target, log=log, watchers=[display]) as prober:
        return await prober.run(campaign, trigger), prober.metrics


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
    try:
        owner = path if path.exists() else path.parent
        is_writable = not path.is_dir() and path.parent.is_dir() and os.access(owner, os.W_OK)
    except OSError:
        is_writable = False
    if not is_writable:
        raise ConfigError(f"{path} cannot be written; name a file in a folder that exists and is yours")


def _write(file: str, text: str) -> None:
    with _complaining(file):
        if file == STDOUT:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            pathlib.Path(file).write_text(text, encoding="utf-8")


@contextlib.contextmanager
def _complaining(file: str | pathlib.Path) -> Iterator[None]:
    """Say in our own words that a file could not be written, though the run is done.

    Raises:
        ProberError: disk full, reader gone, folder taken away.
    """
    try:
        yield
    except OSError as error:
        if file == STDOUT:
            silence(sys.stdout)
        name = "standard output" if file == STDOUT else file
        why = error.strerror or type(error).__name__
        raise ProberError(f"{name} could not be written ({why}); the run itself stands in the database") from None
