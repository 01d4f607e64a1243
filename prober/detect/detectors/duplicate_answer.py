"""Was one answer given twice?"""

from collections.abc import Iterable
from typing import Final

from prober.detect.likeness import LIKE, likeness, may_be_like
from prober.detect.recall import compared_miss
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.mark import AnswerMark
from prober.domain.outcome import Outcome

_NAME = "duplicate_answer"

LEAST_WORDS: Final = 8
"""Shorter answers have no signature, and agree by chance."""


def detect_duplicate_answer(evidence: Evidence) -> tuple[Finding, ...]:
    """Look for the answer's response id, and for its text, among the latest answers.

    A response id belongs to one answer: SUSPECT when it comes again. Honest exceptions: a server that gives all answers
    one id, one that echoes the request id which we sent twice on purpose, and a cache that gives a tenant its own
    answer again.

    Answers of two tenants to different texts agree (Jaccard similarity of at least 0.8, MinHash) although each should
    hold its own phrase, and only one of the two does: SUSPECT. Templates of refusal or inability agree honestly, and
    neither of such answers knows its phrase; a phrase of three words and more keeps right ones apart.
    """
    if not evidence.answer.is_served or evidence.answer is Answer.REROUTED:
        return ()
    return (*_same_id(evidence), *_same_text(evidence))


def _same_id(evidence: Evidence) -> tuple[Finding, ...]:
    response_id = evidence.observation.response_id
    if not response_id or _is_our_own(evidence, response_id):
        return ()
    earlier = next((mark for mark in evidence.history.marks.of_response(response_id) if _differs(evidence, mark)), None)
    if earlier is None or not _gives_ids(evidence, response_id):
        return ()
    message = f"The answer has the response id of the answer to {_which(evidence, earlier)}."
    return (_finding(evidence, Reason.DUPLICATE_RESPONSE_ID, message),)


def _is_our_own(evidence: Evidence, response_id: str) -> bool:
    """The id was made of a request id that several requests bear on purpose (vLLM: `chatcmpl-` and X-Request-Id)."""
    chosen = evidence.probe.options.request_id
    return bool(chosen) and str(chosen) in response_id


def _differs(evidence: Evidence, mark: AnswerMark) -> bool:
    """Not the same tenant's answer to the same text."""
    return not (_is_same_text(evidence, mark) and mark.tenant_number == evidence.probe.tenant.number)


def _is_same_text(evidence: Evidence, mark: AnswerMark) -> bool:
    return bool(mark.text_sha256) and mark.text_sha256 == evidence.prompt.text_sha256


def _gives_ids(evidence: Evidence, response_id: str) -> bool:
    """Some other answer has another id: a server that gives all of them the same one gives none."""
    return any(mark.response_id not in {None, "", response_id} for mark in reversed(evidence.history.marks))


def _same_text(evidence: Evidence) -> tuple[Finding, ...]:
    missed, reading = compared_miss(evidence), evidence.reading
    if missed is None or len(reading.signature) == 0 or reading.words < LEAST_WORDS or reading.is_refusal_like:
        return ()
    twin = _twin(evidence, evidence.history.marks.of_recall(is_missed=not missed))
    if twin is None:
        return ()
    owner = "that one" if missed else "this one"
    message = (
        f"The answer is the answer to {_which(evidence, twin)}, over again or nearly so; only {owner} knows its prompt."
    )
    return (_finding(evidence, Reason.NEAR_DUPLICATE_ANSWER, message),)


def _twin(evidence: Evidence, marks: Iterable[AnswerMark]) -> AnswerMark | None:
    signature = evidence.reading.signature
    for mark in marks:
        if mark.tenant_number == evidence.probe.tenant.number or _is_same_text(evidence, mark):
            continue
        if may_be_like(signature, mark.signature) and (likeness(signature, mark.signature) or 0.0) >= LIKE:
            return mark
    return None


def _which(evidence: Evidence, mark: AnswerMark) -> str:
    whose = "of the same tenant" if mark.tenant_number == evidence.probe.tenant.number else "of another tenant"
    return f"{mark.label} {whose} (number {mark.tenant_number})"


def _finding(evidence: Evidence, reason: Reason, message: str) -> Finding:
    return Finding(
        detector=_NAME, outcome=Outcome.SUSPECT, reason=reason, message=message, probe_label=evidence.probe.label
    )
