"""Does the target still answer plain prompts after a storm?"""

from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.mark import AnswerMark
from prober.domain.outcome import Outcome
from prober.domain.probe import Role

_NAME = "liveness"

_DEAD = frozenset({Answer.HANG, Answer.SERVER_ERROR, Answer.MALFORMED, Answer.UNREACHABLE, Answer.EMPTY})


def detect_liveness(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge the plain generation that follows a storm, on a target that had answered before.

    One that fails is INCONCLUSIVE: targets restart. It is SUSPECT when the one before failed too, or when it hangs and
    the latest valid request had hung as well: nothing that ends by itself lasts two time-outs (TensorRT-LLM issue
    #12540: health checks green, every later request timed out).
    """
    is_alive = evidence.answer not in _DEAD
    if evidence.probe.role is not Role.LIVENESS or is_alive or not evidence.history.clean:
        return ()
    earlier = _earlier(evidence)
    outcome = Outcome.SUSPECT if earlier is not None else Outcome.INCONCLUSIVE
    since = "" if earlier is None else f", as {earlier.label} before it did"
    message = f"A plain prompt after a storm came to nothing ({evidence.answer.value}){since}; the target had answered."
    return (
        Finding(
            detector=_NAME,
            outcome=outcome,
            reason=Reason.WEDGED,
            message=message,
            probe_label=evidence.probe.label,
        ),
    )


def _earlier(evidence: Evidence) -> AnswerMark | None:
    """Return the failed answer that this one confirms."""
    marks = evidence.history.marks
    before = next((mark for mark in reversed(marks) if mark.role is Role.LIVENESS), None)
    if before is not None and before.answer in _DEAD:
        return before
    latest = next((mark for mark in reversed(marks) if mark.role is not Role.NEIGHBOUR), None)
    is_hanging = evidence.answer is Answer.HANG and latest is not None and latest.answer is Answer.HANG
    return latest if is_hanging else None
