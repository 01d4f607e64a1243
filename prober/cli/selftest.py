"""`prober selftest`: is the prober itself working?"""

import logging
import sys
from typing import Annotated

import typer
from rich.console import Console

from prober.cli.exits import Exit
from prober.cli.interrupts import run_interruptible
from prober.cli.terminal import open_console
from prober.domain.errors import ConfigError
from prober.domain.verdict import Spending
from prober.report.console import spending_words
from prober.service.selftest import CASES, Case, Checked, check
from prober.telemetry.logs import Log, LogFormat, open_log, stdlib_routed
from prober.telemetry.redaction import Redactor
from prober.wiring.system import SystemClock


def selftest(
    *, case: Annotated[list[str] | None, typer.Option(help="Only these cases, by name; all when left out.")] = None
) -> None:
    """Probe clusters with and without faults; fail unless every verdict and its reasons are right."""
    console = open_console()
    # The leaks that are found are the lab's own, and the report says them: no event for a log.
    log = open_log(
        sys.stderr, form=LogFormat.CONSOLE, redactor=Redactor(), now=SystemClock().now, level=logging.CRITICAL
    )
    with stdlib_routed(log):
        missed = run_interruptible(_check(console, log, _chosen(case)))
    console.print(f"{len(missed)} missed: {'; '.join(missed)}" if missed else "every verdict is right")
    raise typer.Exit(Exit.VIOLATION if missed else Exit.CLEAN)


def _chosen(names: list[str] | None) -> list[Case]:
    known = {case.name: case for case in CASES}
    for name in names or ():
        if name not in known:
            raise ConfigError(f"no case {name!r}; there are: {'; '.join(known)}")
    return [known[name] for name in names] if names else list(CASES)


async def _check(console: Console, log: Log, cases: list[Case]) -> list[str]:
    missed = []
    spent = Spending()
    async for step in check(log=log, cases=cases):
        if isinstance(step, Checked):
            console.print(_line(step), markup=False, soft_wrap=True)
            spent += step.report.spent
            if not step.is_met:
                missed.append(step.case.name)
    console.print(f"{len(cases)} cases, {spending_words(spent)}")
    return missed


def _line(checked: Checked) -> str:
    verdict = checked.report.verdict
    reasons = ", ".join(reason.value for reason in verdict.reasons) or "no finding"
    mark = "ok    " if checked.is_met else "MISSED"
    return f"{mark} {checked.case.name}: {verdict.outcome.name} ({reasons}); {spending_words(checked.report.spent)}"
