"""Was a request that we broke on purpose refused, or did it live on?"""

from prober.detect.corruption import is_plain_miss
from prober.detect.malformations import LEAVES_PROMPT_WHOLE, LENIENT
from prober.detect.recall import has_reasoned, is_decisive_missed
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.options import Malformation
from prober.domain.outcome import Outcome
from prober.domain.probe import DisconnectMoment

_NAME = "malformed_request"


def detect_malformed_request(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge answers to requests with `options.malformation` alone.

    Any 4xx for the form, or an error in an envelope or frame, is due (CLEAN). An answer is SUSPECT where every known
    server refuses; and where some merely ignore the fault, if the LLM has shown that it can recall and the answer tells
    much, but nothing of its own, whole prompt: then it was made of something else (a rejected request that lives on as
    a stub, SGLang issue #34208; honest LLMs ramble in at most 1 of 1,000). Else INCONCLUSIVE. An answer that we hung up
    on because it had reached its planned length is one, where that was not spent on reasoning. No answer at all is
    SUSPECT on a target that answered others: a refusal takes no time (no honest wait comes near `hang_seconds`).
    """
    malformation = evidence.probe.options.malformation
    if malformation is None:
        return ()
    what = malformation.value.replace("_", " ")
    if evidence.answer.is_rejected:
        message = f"A request broken on purpose ({what}) was refused, as due."
        return (_finding(evidence, Outcome.CLEAN, Reason.REFUSED_AS_DUE, message),)
    if evidence.answer.is_served or _is_cut_as_long_enough(evidence):
        return (_served(evidence, malformation, what),)
    if evidence.answer is Answer.HANG and evidence.history.clean:
        message = f"A request broken on purpose ({what}) was neither answered nor refused, while others were answered."
        return (_finding(evidence, Outcome.SUSPECT, Reason.HANG, message),)
    return ()


def _is_cut_as_long_enough(evidence: Evidence) -> bool:
    """A broken output limit ends no answer: our hang-up did, after as many tokens as any other one may have."""
    disconnect = evidence.probe.disconnect
    is_planned = disconnect is not None and disconnect.moment is DisconnectMoment.AFTER_TOKENS
    return is_planned and evidence.answer is Answer.ABANDONED and not has_reasoned(evidence)


def _served(evidence: Evidence, malformation: Malformation, what: str) -> Finding:
    message = f"A request broken on purpose ({what}) was answered with status 200"
    knows_nothing = (
        malformation in LEAVES_PROMPT_WHOLE
        and evidence.history.is_recall_proven
        and (evidence.answer is Answer.SERVED_FULL or _is_cut_as_long_enough(evidence))
        and bool(evidence.reading.recall.asked)
        and is_decisive_missed(evidence)
        and not is_plain_miss(evidence)
    )
    if knows_nothing:
        return _finding(
            evidence, Outcome.SUSPECT, Reason.SERVED_INVALID, f"{message}, and the answer does not know its own prompt."
        )
    if malformation in LENIENT:
        message = f"{message}; some servers merely ignore that fault ({LENIENT[malformation]})."
        return _finding(evidence, Outcome.INCONCLUSIVE, Reason.SERVED_INVALID, message)
    return _finding(evidence, Outcome.SUSPECT, Reason.SERVED_INVALID, f"{message}, where every known server refuses.")


def _finding(evidence: Evidence, outcome: Outcome, reason: Reason, message: str) -> Finding:
    return Finding(detector=_NAME, outcome=outcome, reason=reason, message=message, probe_label=evidence.probe.label)
