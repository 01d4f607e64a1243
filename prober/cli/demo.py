"""`prober demo`: find the incident in the lab, then clear the repaired cluster."""

import logging
import sys

import typer
from rich.console import Console

from prober.cli.exits import Exit
from prober.cli.interrupts import run_interruptible
from prober.cli.progress import ProgressDisplay
from prober.cli.terminal import open_console
from prober.report.console import print_report
from prober.service.demo import Act, Played, play
from prober.telemetry.logs import Log, LogFormat, open_log, stdlib_routed
from prober.telemetry.redaction import Redactor
from prober.wiring.system import SystemClock


def demo() -> None:
    """Find the incident from outside in the embedded lab, then clear the repaired cluster. About a minute."""
    console = open_console()
    # The leaks that are found are the lab's own, and the report says them: no event for a log.
    log = open_log(
        sys.stderr,
        form=LogFormat.CONSOLE,
        redactor=Redactor(),
        now=SystemClock().now,
        level=logging.CRITICAL,
    )
    with stdlib_routed(log):
        is_as_expected = run_interruptible(_play(console, log))
    raise typer.Exit(Exit.CLEAN if is_as_expected else Exit.VIOLATION)


async def _play(console: Console, log: Log) -> bool:
    played: list[Played] = []
    with ProgressDisplay(console) as display:
        async for step in play(log=log, watchers=[display]):
            if isinstance(step, Act):
                console.print(step.title, style="bold", highlight=False, soft_wrap=True)
            else:
                print_report(console, step.report)
                console.print()
                played.append(step)
    for step in played:
        verdict = step.report.verdict.outcome.name
        said = "as it must be" if step.is_as_expected else f"but it should have been {step.act.expected.name}"
        console.print(f"{step.act.title.split(':')[0]}: {verdict}, {said}.", highlight=False)
    return all(step.is_as_expected for step in played)
