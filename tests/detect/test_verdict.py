"""A run's conclusion."""

from collections.abc import Sequence

import pytest

from prober.detect.verdict import fold
from prober.domain.evidence import History
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from tests.support.evidence import a_finding

CLEAN, INCONCLUSIVE, SUSPECT, VIOLATION = Outcome
SERVED = a_finding(Reason.SERVED, CLEAN)
REJECTED = a_finding(Reason.REJECTED_AS_DUE, CLEAN)
BUSY = a_finding(Reason.BUSY, INCONCLUSIVE)
HUNG_UP = a_finding(Reason.ABANDONED, INCONCLUSIVE)
FAST = a_finding(Reason.PREFILL_TOO_FAST, SUSPECT)
CANARY = a_finding(Reason.FOREIGN_CANARY, VIOLATION, is_confirmed=True, evidence_bits=30.0)
TEN = History(probes=12, conclusive=10, clean=10)


@pytest.mark.parametrize(
    ("findings", "history", "outcome", "reasons"),
    [
        ((SERVED, REJECTED, SERVED), TEN, CLEAN, (Reason.SERVED, Reason.REJECTED_AS_DUE)),
        ((SERVED, BUSY), TEN, INCONCLUSIVE, (Reason.BUSY,)),
        ((SERVED, BUSY, FAST), TEN, SUSPECT, (Reason.PREFILL_TOO_FAST,)),
        ((SERVED, FAST, CANARY), TEN, VIOLATION, (Reason.FOREIGN_CANARY,)),
        ((SERVED, HUNG_UP), TEN, CLEAN, (Reason.SERVED,)),
        ((SERVED,), History(probes=1), INCONCLUSIVE, (Reason.TOO_FEW_SAMPLES,)),
        ((), History(), INCONCLUSIVE, (Reason.TOO_FEW_SAMPLES,)),
        ((HUNG_UP,), History(probes=1), INCONCLUSIVE, (Reason.TOO_FEW_SAMPLES,)),
        ((BUSY, BUSY), History(probes=2), INCONCLUSIVE, (Reason.BUSY, Reason.TOO_FEW_SAMPLES)),
        ((CANARY,), History(probes=1), VIOLATION, (Reason.FOREIGN_CANARY,)),
        ((FAST,), History(probes=1), SUSPECT, (Reason.PREFILL_TOO_FAST,)),
    ],
)
def test_the_worst_finding_wins_and_nothing_conclusive_is_inconclusive(
    findings: Sequence[Finding], history: History | None, outcome: Outcome, reasons: tuple[Reason, ...]
):
    """Reasons are those of the findings that made the outcome; planned hang-ups weigh nothing."""
    verdict = fold(findings, history)
    assert (verdict.outcome, verdict.reasons) == (outcome, reasons)
    assert (verdict.probes, verdict.conclusive, verdict.clean) == (history.probes, history.conclusive, history.clean)


def test_reasons_are_ordered_by_confirmation_then_evidence_then_number():
    """The first reason is the one to read first."""
    findings = [
        a_finding(Reason.FOREIGN_FRAGMENTS, VIOLATION, evidence_bits=60.0),
        a_finding(Reason.SERVED_OVER_CONTEXT, VIOLATION),
        a_finding(Reason.SERVED_OVER_LIMIT, VIOLATION),
        a_finding(Reason.SERVED_OVER_LIMIT, VIOLATION),
        CANARY,
    ]
    verdict = fold(findings, TEN)
    assert verdict.reasons == (
        Reason.FOREIGN_CANARY,
        Reason.FOREIGN_FRAGMENTS,
        Reason.SERVED_OVER_LIMIT,
        Reason.SERVED_OVER_CONTEXT,
    )
    assert verdict.evidence_bits == 60.0


@pytest.mark.parametrize(
    ("findings", "clean", "bound"),
    [
        ((SERVED,), 10, pytest.approx(0.2589, abs=1e-4)),
        ((SERVED, BUSY), 10, pytest.approx(0.2589, abs=1e-4)),
        ((SERVED, FAST), 10, pytest.approx(0.2589, abs=1e-4)),
        ((SERVED, CANARY), 10, None),
        ((BUSY,), 0, None),
    ],
)
def test_the_leak_rate_is_bounded_by_clean_probes_unless_one_leaked(
    findings: Sequence[Finding], clean: int, bound: float | None
):
    """No bound without a clean probe, nor after a violation."""
    verdict = fold(findings, History(probes=clean + 1, conclusive=clean, clean=clean))
    assert verdict.leak_rate_upper95 == bound


def test_evidence_bits_are_those_of_violations():
    """A warning's bits are no proof."""
    assert fold([a_finding(Reason.FOREIGN_FRAGMENTS, SUSPECT, evidence_bits=20.0)], TEN).evidence_bits == 0.0
