"""The self-test: every fault of the lab must be found, for the right reason, and nothing where there is none."""

import dataclasses
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.service.lab_run import LabRun, perform
from prober.telemetry.logs import Log

SCENARIOS = ("seed_and_probe",)
SHRINK = 16
"""What decides is the same at a sixteenth of the incident's sizes, save for timing."""

CLOCK = 1 / 40
"""Real seconds per virtual second: slow enough that the machine's own work is small beside the virtual prefill."""

WAITING_CLOCK = 1 / 150
"""For clusters that let a refused prompt hang for 300 virtual seconds, here two real ones."""

_ONE_PROBE: Mapping[str, Any] = {"anchor_probes": 3, "over_limit_probes": 1}
_TWO_PROBES: Mapping[str, Any] = {"over_limit_probes": 2}
"""One page above the limit, then in the middle of the window, where the stale tail is long."""
_TRUNCATES: Mapping[str, Any] = {"overlong": "truncate"}
_ONE_POOL: Mapping[str, Any] = {"decode_pool_tokens": None}

_LEAKS = (Reason.FOREIGN_CANARY, Reason.SERVED_OVER_LIMIT)
_FAILS = (Reason.SERVER_ERROR,)
_REFUSES = (Reason.REJECTED_AS_DUE,)
_TEXT_OF_OTHERS = (Reason.FOREIGN_CANARY, Reason.FOREIGN_FRAGMENTS, Reason.FOREIGN_TEXT, Reason.LATE_ECHO)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cluster with the verdict it must get."""

    name: str
    lab_run: LabRun
    outcome: Outcome
    reasons: tuple[Reason, ...]
    """All of these must stand among the verdict's reasons."""
    absent: tuple[Reason, ...] = ()
    """None of these may stand among the reasons of any finding."""

    def is_met_by(self, report: RunReport) -> bool:
        """The right verdict for the right reason."""
        found = {finding.reason for finding in report.findings if finding.outcome is not Outcome.CLEAN}
        is_right = report.verdict.outcome is self.outcome and set(self.reasons) <= set(report.verdict.reasons)
        return is_right and not found & set(self.absent)


def _case(
    name: str,
    scene: str,
    outcome: Outcome,
    reasons: tuple[Reason, ...],
    *,
    target: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    time_scale: float = CLOCK,
) -> Case:
    lab_run = LabRun(
        scene=scene,
        scenarios=SCENARIOS,
        shrink=SHRINK,
        time_scale=time_scale,
        target=target or {},
        settings={**_ONE_PROBE, **(settings or {})},
    )
    is_leak = Reason.FOREIGN_CANARY in reasons
    return Case(name=name, lab_run=lab_run, outcome=outcome, reasons=reasons, absent=() if is_leak else _TEXT_OF_OTHERS)


_INCIDENT = Case(
    name="incident",
    lab_run=LabRun(
        scene="incident",
        scenarios=SCENARIOS,
        time_scale=1 / 75,
        # Donors of half the limit are timed as they seed, so that no seeding of their own is needed; five of them, as
        # a busy machine makes some timings untrusted.
        settings={"seed_tokens": 0, "baseline_tokens": 340_000, "anchor_probes": 5, "over_limit_probes": 2},
    ),
    outcome=Outcome.VIOLATION,
    reasons=(*_LEAKS, Reason.PREFILL_TOO_FAST),
)
"""The incident itself at its own sizes: the one case in which a skipped prefill also shows in time."""

CASES: tuple[Case, ...] = (
    _INCIDENT,
    _case("0.5.19, router shows decode", "incident", Outcome.VIOLATION, _LEAKS),
    _case("0.5.19, router joins", "incident-joining-router", Outcome.VIOLATION, _LEAKS),
    _case("0.5.19, router cancels", "incident-cancelling-router", Outcome.VIOLATION, _LEAKS),
    _case("0.5.19, transfer checksum", "incident-checksum", Outcome.INCONCLUSIVE, _FAILS),
    _case("0.5.19, symmetric pools", "symmetric-pools", Outcome.CLEAN, _REFUSES),
    _case(
        "0.5.19, fresh zero pools",
        "zero-pools",
        Outcome.VIOLATION,
        (Reason.SERVED_OVER_LIMIT,),
        settings={"seed_tokens": 0},
    ),
    _case("0.5.19, aggregated", "aggregated-0.5.19", Outcome.CLEAN, _REFUSES, target=_ONE_POOL),
    _case(
        "0.5.20, router shows decode",
        "fixed-0.5.20-hanging-router",
        Outcome.INCONCLUSIVE,
        _FAILS,
        time_scale=WAITING_CLOCK,
    ),
    _case("0.5.20, router joins", "fixed-0.5.20-joining-router", Outcome.CLEAN, _REFUSES, time_scale=WAITING_CLOCK),
    _case("0.5.20, router cancels", "fixed-0.5.20", Outcome.CLEAN, _REFUSES),
    _case(
        "0.5.21, router shows decode", "fixed-hanging-router", Outcome.INCONCLUSIVE, _FAILS, time_scale=WAITING_CLOCK
    ),
    _case("0.5.21, router joins", "fixed-joining-router", Outcome.CLEAN, _REFUSES, time_scale=WAITING_CLOCK),
    _case("0.5.21, router cancels", "fixed", Outcome.CLEAN, _REFUSES),
    _case("0.5.21, aggregated", "aggregated", Outcome.CLEAN, _REFUSES, target=_ONE_POOL),
    _case(
        "auto-truncate, as promised",
        "auto-truncate",
        Outcome.VIOLATION,
        (Reason.FOREIGN_CANARY,),
        target=_TRUNCATES,
        settings=_TWO_PROBES,
    ),
    _case("auto-truncate, where a refusal is due", "auto-truncate", Outcome.VIOLATION, _LEAKS, settings=_TWO_PROBES),
    _case(
        "auto-truncate, transfer checksum", "auto-truncate-checksum", Outcome.INCONCLUSIVE, _FAILS, target=_TRUNCATES
    ),
    _case(
        "auto-truncate, symmetric pools",
        "auto-truncate-symmetric",
        Outcome.CLEAN,
        (Reason.TRUNCATED,),
        target=_TRUNCATES,
    ),
    _case(
        "auto-truncate, symmetric pools, where a refusal is due",
        "auto-truncate-symmetric",
        Outcome.SUSPECT,
        (Reason.TRUNCATED,),
    ),
    _case(
        "auto-truncate, aggregated",
        "aggregated-truncating",
        Outcome.CLEAN,
        (Reason.TRUNCATED,),
        target={**_ONE_POOL, **_TRUNCATES},
    ),
)
"""The combinations of switches that are known to matter, with the right verdict and the right reason for each."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One case with its report."""

    case: Case
    report: RunReport

    @property
    def is_met(self) -> bool:
        """The case's verdict and reasons came out."""
        return self.case.is_met_by(self.report)


async def check(*, log: Log, cases: Sequence[Case] = CASES) -> AsyncIterator[Case | Checked]:
    """Run the cases in order; yields each case before it starts, and its report after.

    Raises:
        ProberError: as a run raises.
    """
    for case in cases:
        yield case
        yield Checked(case=case, report=await perform(case.lab_run, log=log))
