"""Is the same text answered as it was before?"""

from prober.detect.charts import REPLAYS, is_replay_lost, reference_of
from prober.detect.corruption import is_plain_miss, is_salad
from prober.detect.likeness import UNLIKE, likeness
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.mark import AnswerMark
from prober.domain.outcome import Outcome

_NAME = "replay"


def detect_replay(evidence: Evidence) -> tuple[Finding, ...]:
    """Compare with the undisturbed answer to the very same text, of this run or the one before it.

    Other wording is honest: greedy output differs with the batch on endpoints that are not batch-invariant. What counts
    is that the reference knew its needle, this answer does not, and says something else: SUSPECT at once where it says
    much (honest LLMs seldom ramble; at most 1 in 1,000 replays), or mixes scripts where the reference did not. A plain
    miss, refusal or loop is INCONCLUSIVE, and SUSPECT once such become common (alarms once in 10,000 replays, for an
    LLM that forgets, refuses or loops in 3 %).
    """
    reference, lost = reference_of(evidence), is_replay_lost(evidence)
    if reference is None or lost is None:
        return ()
    if is_salad(evidence) and not reference.is_garbled:
        return (_diverged(evidence, reference, Outcome.SUSPECT, "is garbled now, and was not then"),)
    if lost:
        return (_lost(evidence, reference),)
    alike = likeness(evidence.reading.signature, reference.signature)
    if evidence.reading.sha256 == reference.sha256 or alike is None or alike >= UNLIKE:
        message = f"The same text is answered as before ({reference.label})."
        return (_finding(evidence, Outcome.CLEAN, Reason.REPLAY_EQUAL, message),)
    return ()


def _lost(evidence: Evidence, reference: AnswerMark) -> Finding:
    if not is_plain_miss(evidence):
        return _diverged(evidence, reference, Outcome.SUSPECT, "lacks what it knew then, and says something else")
    if REPLAYS.alarms(evidence):
        return _diverged(evidence, reference, Outcome.SUSPECT, "lacks what it knew then, as too many replays do")
    return _diverged(evidence, reference, Outcome.INCONCLUSIVE, "lacks what it knew then, as honest LLMs may forget")


def _diverged(evidence: Evidence, reference: AnswerMark, outcome: Outcome, how: str) -> Finding:
    message = f"The answer to the same text as {reference.label} {how}."
    return _finding(evidence, outcome, Reason.REPLAY_DIVERGED, message)


def _finding(evidence: Evidence, outcome: Outcome, reason: Reason, message: str) -> Finding:
    return Finding(detector=_NAME, outcome=outcome, reason=reason, message=message, probe_label=evidence.probe.label)
