"""The self-test: every fault of the lab must be found, and nothing where there is none."""

import dataclasses
from collections.abc import AsyncIterator, Sequence
from typing import Any

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.service.lab_run import LabRun, perform
from prober.telemetry.logs import Log


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cluster with the verdict it must get."""

    name: str
    lab_run: LabRun
    outcome: Outcome
    reasons: tuple[Reason, ...] = ()
    """All of these must stand among the verdict's reasons."""

    def is_met_by(self, report: RunReport) -> bool:
        """The right verdict for the right reason."""
        verdict = report.verdict
        return verdict.outcome is self.outcome and set(self.reasons) <= set(verdict.reasons)


def _case(
    scene: str,
    outcome: Outcome,
    *reasons: Reason,
    name: str = "",
    target: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
) -> Case:
    lab_run = LabRun(scene=scene, scenarios=("seed_and_probe",), target=target or {}, settings=settings or {})
    return Case(name=name or scene, lab_run=lab_run, outcome=outcome, reasons=reasons)


CASES: tuple[Case, ...] = (
    _case("incident", Outcome.VIOLATION, Reason.FOREIGN_CANARY, Reason.SERVED_OVER_LIMIT, Reason.PREFILL_TOO_FAST),
    _case(
        "incident",
        Outcome.VIOLATION,
        Reason.SERVED_OVER_LIMIT,
        Reason.PREFILL_TOO_FAST,
        name="incident, fresh zero pools",
        settings={"seed_tokens": 0, "over_limit_probes": 1},
    ),
    _case("symmetric-pools", Outcome.CLEAN, target={"decode_pool_tokens": 681_280}),
    _case(
        "auto-truncate",
        Outcome.VIOLATION,
        Reason.FOREIGN_CANARY,
        target={"overlong": "truncate"},
    ),
    _case("aggregated", Outcome.CLEAN, target={"decode_pool_tokens": None}),
    _case("aggregated-truncating", Outcome.CLEAN, target={"decode_pool_tokens": None, "overlong": "truncate"}),
    _case("fixed-0.5.20", Outcome.CLEAN),
    _case("fixed", Outcome.CLEAN),
    _case("fixed-joining-router", Outcome.CLEAN),
    _case("fixed-hanging-router", Outcome.INCONCLUSIVE, Reason.SERVER_ERROR),
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
