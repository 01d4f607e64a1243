"""A run's findings, folded into its conclusion."""

from collections.abc import Sequence

from prober.domain.evidence import History
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome, worst
from prober.domain.verdict import Verdict
from prober.stats.bounds import leak_rate_upper95


def fold(findings: Sequence[Finding], history: History) -> Verdict:
    """Fold all findings of a run, those about the run as a whole included; the worst wins.

    Planned hang-ups (ABANDONED) went as intended and weigh nothing. A run without one conclusive probe is
    INCONCLUSIVE, unless something worse was found.
    """
    weighing = [finding for finding in findings if finding.reason is not Reason.ABANDONED]
    outcome = worst(finding.outcome for finding in weighing)
    reasons = _reasons(weighing, outcome)
    if history.conclusive == 0 and outcome.rank <= Outcome.INCONCLUSIVE.rank:
        reasons = (*_reasons(weighing, Outcome.INCONCLUSIVE), Reason.TOO_FEW_SAMPLES)
        outcome = Outcome.INCONCLUSIVE
    return Verdict(
        outcome=outcome,
        reasons=tuple(dict.fromkeys(reasons)),
        probes=history.probes,
        conclusive=history.conclusive,
        clean=history.clean,
        leak_rate_upper95=_leak_rate(outcome, history.clean),
        evidence_bits=max((f.evidence_bits for f in findings if f.outcome is Outcome.VIOLATION), default=0.0),
    )


def _reasons(findings: Sequence[Finding], outcome: Outcome) -> tuple[Reason, ...]:
    """Reasons of the findings that made the outcome: confirmed ones first, then by evidence, then by frequency."""
    made = [finding for finding in findings if finding.outcome is outcome]
    weights = {
        reason: (
            any(finding.is_confirmed for finding in made if finding.reason is reason),
            max(finding.evidence_bits for finding in made if finding.reason is reason),
            sum(finding.reason is reason for finding in made),
        )
        for reason in dict.fromkeys(finding.reason for finding in made)
    }
    return tuple(sorted(weights, key=lambda reason: weights[reason], reverse=True))


def _leak_rate(outcome: Outcome, clean: int) -> float | None:
    if outcome is Outcome.VIOLATION or clean == 0:
        return None
    return leak_rate_upper95(clean)
