"""Does the answer know what only the end of its own prompt could tell it?"""

from prober.detect.charts import HEADLESS
from prober.detect.recall import RECALL_CUSUM, is_decisive_missed, is_fair, recall_trial
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from prober.domain.prompt import NeedlePosition

_NAME = "own_recall"


def detect_own_recall(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge the needles of a whole, served answer; the END one decides.

    Honest LLMs miss now and then. Once the LLM has passed its positive control, misses are judged together: a run of
    them crosses the CUSUM (SUSPECT), until then they are what honest LLMs do (CLEAN), but for prompts that need not
    have been served: there one miss is left to the ladder (INCONCLUSIVE). So is knowing the END alone, the face of a
    prompt cut at its head; a run of that is SUSPECT too, of an LLM that had known whole prompts. Before the control is
    passed, a miss tells nothing: INCONCLUSIVE, or silence on calibration probes, which are the control. Nothing is said
    of answers that are no fair trial.
    """
    if not is_fair(evidence):
        return ()
    if not is_decisive_missed(evidence) and not _is_only_end_found(evidence):
        return (_finding(evidence, Outcome.CLEAN, Reason.RECALL_OK, f"The answer recalls its own {_found(evidence)}."),)
    missed = ", ".join(position.value for position in evidence.reading.recall.missed)
    if HEADLESS.alarms(evidence):
        message = f"Answers keep knowing the end of their own prompts alone; this one misses needles at: {missed}."
        return (_finding(evidence, Outcome.SUSPECT, Reason.RECALL_COLLAPSED, message),)
    if evidence.reading.is_refusal_like and not _is_only_end_found(evidence):
        message = f"The answer reads like a refusal by the LLM and holds no needle at: {missed}."
        return (_finding(evidence, Outcome.INCONCLUSIVE, Reason.REFUSED_BY_LLM, message),)
    return _judge_miss(evidence, missed)


def _judge_miss(evidence: Evidence, missed: str) -> tuple[Finding, ...]:
    message = f"The answer misses needles of its own prompt at: {missed}"
    if not evidence.history.is_recall_proven:
        if evidence.probe.role is Role.CALIBRATION:
            return ()
        message = f"{message}; the LLM has not shown in this run that it can recall."
        return (_finding(evidence, Outcome.INCONCLUSIVE, Reason.RECALL_MISSED, message),)
    if not recall_trial(evidence):
        return (_finding(evidence, Outcome.INCONCLUSIVE, Reason.RECALL_MISSED, f"{message}."),)
    score = RECALL_CUSUM.fold(evidence.history.recall_score, has_failed=True)
    if RECALL_CUSUM.has_crossed(score):
        message = (
            f"Answers keep missing the decisive needle of their own prompts: change score {score:.1f} nats, "
            f"alarm from {RECALL_CUSUM.threshold:.1f}."
        )
        return (_finding(evidence, Outcome.SUSPECT, Reason.RECALL_COLLAPSED, message),)
    if evidence.probe.is_over_limit:
        return (_finding(evidence, Outcome.INCONCLUSIVE, Reason.RECALL_MISSED, f"{message}."),)
    message = (
        f"{message}, no more often than honest LLMs do (change score {score:.1f} of {RECALL_CUSUM.threshold:.1f})."
    )
    return (_finding(evidence, Outcome.CLEAN, Reason.RECALL_MISSED, message),)


def _is_only_end_found(evidence: Evidence) -> bool:
    """Only the tail of the prompt was known: the face of a context cut at its head."""
    recall = evidence.reading.recall
    return recall.found == (NeedlePosition.END,) and len(recall.missed) > 1


def _found(evidence: Evidence) -> str:
    return f"{' and '.join(position.value for position in evidence.reading.recall.found)} needle"


def _finding(evidence: Evidence, outcome: Outcome, reason: Reason, message: str) -> Finding:
    return Finding(detector=_NAME, outcome=outcome, reason=reason, message=message, probe_label=evidence.probe.label)
