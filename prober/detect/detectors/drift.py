"""Are reference probes answered worse than at the start?"""

from prober.detect.charts import DRIFT
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome

_NAME = "drift"


def detect_drift(evidence: Evidence) -> tuple[Finding, ...]:
    """Follow the reference probes that are asked again and again (series `drift`), by session or replica.

    A failure is a missing needle, a corrupted or an empty answer, of a probe whose reference knew its needle. SUSPECT
    when failures become common: once in 10,000 probes of a target that fails 5 %, by the fifth failure in a row, and
    before the hundredth probe of one that slides to 30 % (SGLang issue #23020).
    """
    if not DRIFT.alarms(evidence):
        return ()
    score = DRIFT.after(evidence) or 0.0
    message = (
        "Reference probes that were answered well are answered badly by now "
        f"(change score {score:.1f} nats, alarm from {DRIFT.cusum.threshold:.1f})."
    )
    return (
        Finding(
            detector=_NAME,
            outcome=Outcome.SUSPECT,
            reason=Reason.DRIFTED,
            message=message,
            probe_label=evidence.probe.label,
        ),
    )
