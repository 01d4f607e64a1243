"""Runs against labs as the self-test sees them, made by hand."""

import dataclasses
from collections.abc import Iterable, Mapping

from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport, Spending
from prober.service.fault_runs import FaultRun, FaultSeen, run_of
from tests.support.reports import a_leak, a_report

K1 = FaultKind.REJECTED_BUT_ADMITTED


def named(*kinds: FaultKind, outcome: Outcome = Outcome.SUSPECT, **changes: object) -> Finding:
    """A finding that suspects these kinds, in this order."""
    return a_leak(**{"kinds": kinds, "outcome": outcome, "detector": "own_recall", **changes})


def reported(outcome: Outcome = Outcome.CLEAN, *findings: Finding, probes: int = 10, tokens: int = 1_000) -> RunReport:
    """A report of that verdict with these findings."""
    report = a_report(findings=findings, spent=Spending(requests=probes, prompt_tokens=tokens, output_tokens=64))
    verdict = dataclasses.replace(report.verdict, outcome=outcome, probes=probes)
    return dataclasses.replace(report, verdict=verdict)


def seen(
    run: FaultRun | str,
    *reports: RunReport,
    counters: Mapping[str, int] | None = None,
    wall_seconds: float = 2.0,
) -> FaultSeen:
    """A run with what it reported; by a fault's name, its run by its own scenario."""
    return FaultSeen(
        fault_run=run_of(run) if isinstance(run, str) else run,
        reports=reports or (reported(),),
        counters=counters or {},
        wall_seconds=wall_seconds,
    )


def found(fault: str, kinds: Iterable[FaultKind] = (K1,), **changes: object) -> FaultSeen:
    """A run in which something was suspected that these kinds explain."""
    return seen(fault, reported(Outcome.SUSPECT, named(*kinds)), **changes)


def healthy(scenario: str, *findings: Finding, **changes: object) -> FaultSeen:
    """A run of a scenario against a lab without a fault."""
    outcome = max((finding.outcome for finding in findings), key=lambda each: each.rank, default=Outcome.CLEAN)
    run = FaultRun(fault=None, scenario=scenario, scene="small")
    return seen(run, reported(outcome, *findings), **changes)


def served() -> Finding:
    """Nothing to tell."""
    return a_leak(outcome=Outcome.CLEAN, reason=Reason.SERVED, sightings=(), kinds=(), is_confirmed=False)
