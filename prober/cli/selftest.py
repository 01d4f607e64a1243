"""`prober selftest`: is the prober itself working?"""

import itertools
import json
import logging
import pathlib
import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer
from rich.console import Console

from prober.cli.exits import Exit
from prober.cli.interrupts import run_interruptible
from prober.cli.selftest_page import matrix_page
from prober.cli.selftest_tables import fault_lines, healthy_lines, kind_lines
from prober.cli.terminal import open_console
from prober.domain.errors import ConfigError
from prober.domain.verdict import Spending
from prober.lab.faults import FAULTS
from prober.report.console import spending_words
from prober.service.fault_runs import FaultRun, FaultSeen, fault_runs, healthy_runs, observe_all, power_runs
from prober.service.fault_tallies import fired, tally_faults, tally_healthy, tally_kinds
from prober.service.marathon import in_rounds, marathon_runs, shortfalls
from prober.service.selftest import CASES, Case, Checked, check
from prober.telemetry.logs import Log, LogFormat, open_log, stdlib_routed
from prober.telemetry.redaction import Redactor
from prober.wiring.system import SystemClock

LEAST_FOUND = 0.95
"""Share of a fault's runs that must find it; with `--per-kind`, of a kind's."""

TOLD_EVERY = 10
"""Runs between two lines of progress."""


def selftest(  # noqa: PLR0913 - the options of one verb
    *,
    case: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this case of the over-limit family; repeatable.")
    ] = None,
    fault: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this fault of the lab; repeatable.")
    ] = None,
    faults: Annotated[bool, typer.Option("--faults", help="Only the faults, each by its own scenario.")] = False,
    healthy: Annotated[bool, typer.Option("--healthy", help="Only the healthy labs.")] = False,
    marathon: Annotated[
        bool, typer.Option("--marathon", help="With healthy labs: go on until they were probed enough, or fail.")
    ] = False,
    per_kind: Annotated[
        bool, typer.Option("--per-kind", help="With faults: the seeds are each kind's, shared by its faults.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Each fault by every scenario, not by its own alone.")] = False,
    rate: Annotated[float, typer.Option(min=1e-6, max=1.0, help="How often faults strike.")] = 1.0,
    seeds: Annotated[int, typer.Option(min=1, max=10_000, help="Runs of each fault and of each healthy lab.")] = 1,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Rounds of each scenario in healthy labs; the usual ones when left out.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Runs at a time.")] = 2,
    as_json: Annotated[
        pathlib.Path | None, typer.Option("--json", metavar="FILE", help="Write the tables as JSON too.")
    ] = None,
    page: Annotated[
        pathlib.Path | None, typer.Option(metavar="FILE", help="Write them as a Markdown page too.")
    ] = None,
) -> None:
    """Probe labs with and without faults; fail unless every fault is found and named, and healthy labs are left alone.

    Without options: the over-limit cases, each fault by its scenario, and each scenario against a healthy lab.
    """
    console = open_console()
    _require_faults(fault or [])
    is_all = not (case or fault or faults or healthy)
    if marathon and not (is_all or healthy):
        raise ConfigError("--marathon is about healthy labs: give --healthy too")
    if per_kind and (full or not (is_all or faults)):
        raise ConfigError("--per-kind is about all faults, each by its own scenario: give --faults, and not --full")
    # The leaks that are found are the lab's own, and the tables say them: no event for a log.
    log = open_log(
        sys.stderr, form=LogFormat.CONSOLE, redactor=Redactor(), now=SystemClock().now, level=logging.CRITICAL
    )
    seen: list[FaultSeen] = []
    planned: list[Iterable[FaultRun]] = []
    if per_kind and (is_all or faults):
        planned.append(_of(fault, power_runs(seeds, rate=rate)))
    elif is_all or fault or faults:
        planned += [_of(fault, fault_runs(rate=rate, seed=seed, is_full=full)) for seed in range(seeds)]
    settings = {} if rounds is None else in_rounds(rounds)
    if marathon:
        planned.append(marathon_runs(seen, seeds=seeds, settings=settings))
    elif is_all or healthy:
        planned += [healthy_runs(seed=seed, settings=settings) for seed in range(seeds)]
    with stdlib_routed(log):
        missed = run_interruptible(_check(console, log, _chosen(case) if is_all or case else []))
        try:
            run_interruptible(_observe(console, log, itertools.chain.from_iterable(planned), workers, seen))
        except KeyboardInterrupt:
            # An hour of runs is worth reading, whole or not.
            _tell(console, seen, is_full=full, is_per_kind=per_kind)
            console.print(f"interrupted after {len(seen)} runs: the tables hold these, and nothing is proved by them")
            raise
    missed += _tell(console, seen, is_full=full, is_per_kind=per_kind)
    missed += shortfalls(tally_healthy(seen), fired(seen)) if marathon else []
    if page is not None:
        _write(page, matrix_page(tally_faults(seen), tally_healthy(seen), fired(seen)))
    if as_json is not None:
        _write(as_json, json.dumps(_facts(seen), indent=2) + "\n")
    console.print(f"{len(missed)} missed: {'; '.join(missed)}" if missed else "every verdict is right")
    raise typer.Exit(Exit.VIOLATION if missed else Exit.CLEAN)


def _require_faults(names: Iterable[str]) -> None:
    for name in names:
        if name not in FAULTS:
            raise ConfigError(f"no fault {name!r}; there are: {', '.join(FAULTS)}")


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
    if cases:
        console.print(f"{len(cases)} cases, {spending_words(spent)}")
    return missed


async def _observe(
    console: Console, log: Log, planned: Iterable[FaultRun], workers: int, seen: list[FaultSeen]
) -> None:
    """Append to `seen` as runs end; what is planned next may depend on it."""
    async for each in observe_all(planned, log=log, workers=workers):
        seen.append(each)
        if len(seen) % TOLD_EVERY == 0:
            console.print(f"{len(seen)} runs", markup=False)


def _tell(console: Console, seen: list[FaultSeen], *, is_full: bool, is_per_kind: bool) -> list[str]:
    """Print the tables; returns what was missed. By a scenario that is not a fault's own it need not be found."""
    faults, healthy = tally_faults(seen), tally_healthy(seen)
    kinds = tally_kinds(faults) if is_per_kind else ()
    for line in (*fault_lines(faults), *kind_lines(kinds), *healthy_lines(healthy, fired(seen))):
        console.print(line, markup=False, soft_wrap=True)
    if is_per_kind:
        missed = [row.kind for row in kinds if row.found < LEAST_FOUND * row.runs]
    else:
        missed = [f"{row.fault} by {row.scenario}" for row in faults if row.found < LEAST_FOUND * row.runs]
    if is_full:
        found = {row.fault for row in faults if row.found >= LEAST_FOUND * row.runs}
        missed = sorted({row.fault for row in faults} - found)
    return missed + [f"healthy {row.scenario}" for row in healthy if row.violations]


def _of(names: list[str] | None, runs: Iterable[FaultRun]) -> Iterator[FaultRun]:
    return (run for run in runs if not names or run.fault in names)


def _facts(seen: list[FaultSeen]) -> dict[str, Any]:
    faults = tally_faults(seen)
    return {
        "schema": "isolation-prober/selftest/1",
        "faults": [row.facts() for row in faults],
        "kinds": [row.facts() for row in tally_kinds(faults)],
        "healthy": [row.facts() for row in tally_healthy(seen)],
        "honest_failings": fired(seen),
    }


def _write(path: pathlib.Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({type(error).__name__})") from None


def _line(checked: Checked) -> str:
    verdict = checked.report.verdict
    reasons = ", ".join(reason.value for reason in verdict.reasons) or "no finding"
    mark = "ok    " if checked.is_met else "MISSED"
    return f"{mark} {checked.case.name}: {verdict.outcome.name} ({reasons}); {spending_words(checked.report.spent)}"
