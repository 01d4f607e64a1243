"""Does a free answer's reasoning end where another request's budget does?"""

from prober.detect.charts import BUDGETS
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome

_NAME = "reasoning_budget"


def detect_reasoning_budget(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge free answers beside ones with a reasoning budget, of an LLM that reasons twice as long undisturbed.

    One whose reasoning takes exactly as many tokens as a neighbour's that was ended by its budget may do so by itself:
    SUSPECT is only where such answers become common (`charts.BUDGETS`; honest once in 10,000 free answers at most).
    """
    if not BUDGETS.alarms(evidence):
        return ()
    count = evidence.observation.usage.reasoning_tokens
    message = (
        f"Free answers stop reasoning after {count} tokens, this one included, exactly where the budget of a request "
        "beside them ended; undisturbed ones reason at least twice as long."
    )
    return (
        Finding(
            detector=_NAME,
            outcome=Outcome.SUSPECT,
            reason=Reason.REASONING_CUT,
            message=message,
            probe_label=evidence.probe.label,
        ),
    )
