"""`prober report`: the report of a run that has ended, in any format."""

import asyncio
import enum
from typing import Annotated

import typer

from prober.cli.exits import Exit, FailOn
from prober.cli.options import DEFAULT_CONFIG, ConfigFile, load
from prober.cli.outputs import STDOUT, Output, ReportsOption, outputs_of, uses_stdout, write_reports
from prober.cli.terminal import open_console
from prober.config.schema import Settings
from prober.domain.errors import ConfigError
from prober.domain.verdict import RunReport
from prober.report.console import print_facts
from prober.report.facts import facts_of
from prober.report.formats import FORMATS
from prober.wiring.prober import open_lookups, open_reports

Format = enum.Enum("Format", {name: name for name in FORMATS})  # type: ignore[misc]  # members are the registry's


def report(
    run_id: Annotated[
        str | None,
        typer.Argument(metavar="[RUN]", help="Its id; the run that ended last when left out.", show_default=False),
    ] = None,
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    target: Annotated[str | None, typer.Option(metavar="NAME", help="Without RUN: the last of this target.")] = None,
    form: Annotated[Format, typer.Option("--format", help="What to write.")] = Format("console"),  # noqa: B008 - a constant
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to; - for stdout.")] = STDOUT,
    more: ReportsOption = None,
    fail_on: Annotated[FailOn, typer.Option(help="From which outcome on the exit code is 1.")] = FailOn.VIOLATION,
) -> None:
    """Write the report of a run that has ended; the exit code is that of the run's verdict."""
    settings = load(config)
    if run_id is not None and target is not None:
        raise ConfigError("give a run or a target, not both: a run has one target")
    if target is not None and target not in settings.targets:
        raise ConfigError(f"no target {target!r}; there are: {', '.join(settings.targets)}")
    outputs = _outputs(str(form.value), output, more)
    stored = asyncio.run(_report(settings, run_id, target))
    facts = facts_of(stored, fail_on)
    if not outputs:
        print_facts(open_console(), facts)
    write_reports(outputs, facts)
    if outputs and not uses_stdout(outputs):
        files = ", ".join(each.file for each in outputs)
        open_console().print(f"{facts.outcome.name} {facts.headline}: {files}", markup=False, soft_wrap=True)
    raise typer.Exit(facts.exit)


def _outputs(form: str, file: str, more: list[str] | None) -> tuple[Output, ...]:
    """The one of `--format` and those of `--report`; none where the terminal is what is wanted."""
    if form == "console" and file == STDOUT:
        return outputs_of(more)
    return outputs_of([f"{form}={file}", *(more or ())])


async def _report(settings: Settings, run_id: str | None, target: str | None) -> RunReport:
    async with open_reports(settings) as reports:
        wanted = run_id or await reports.latest(target)
        if wanted is None:
            whose = "no run" if target is None else f"no run of target {target}"
            raise ConfigError(f"{whose} in this database has ended; there is nothing to report")
        found = await reports.report(wanted)
    if found is not None:
        return found
    async with open_lookups(settings) as lookups:
        known = await lookups.run(wanted)
    if known is None:
        raise ConfigError(f"there is no run {wanted!r} in this database")
    typer.echo(f"run {wanted} has not ended: it has no verdict yet", err=True)
    raise typer.Exit(Exit.UNDECIDED)
