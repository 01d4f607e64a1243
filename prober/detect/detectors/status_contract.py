"""Was the prompt served or refused as its length and the target's contract ask?"""

from prober.detect.counts import certain_tokens, is_as_planned, is_truncated
from prober.detect.reasoning import is_cut_on_purpose
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.observation import FailureKind
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation
from prober.domain.target import OverlongContract

_NAME = "status_contract"

_SILENT = {
    Answer.REROUTED: (Reason.REROUTED, "Another LLM or a response cache answered, not the target"),
    Answer.EMPTY: (Reason.EMPTY_ANSWER, "The answer is empty"),
    Answer.REFUSED_OTHERWISE: (Reason.REFUSED_OTHERWISE, "The target refused for a reason other than length"),
    Answer.HANG: (Reason.HANG, "No whole answer came in time"),
    Answer.ABANDONED: (Reason.ABANDONED, "The prober hung up as planned"),
    Answer.BUSY: (Reason.BUSY, "The target was busy or limits the rate"),
    Answer.UNAUTHORISED: (Reason.UNAUTHORISED, "The credential was refused"),
    Answer.NOT_FOUND: (Reason.NOT_FOUND, "The target knows no such route or LLM"),
    Answer.TOO_MANY_BYTES: (Reason.TOO_MANY_BYTES, "A front door refused the size of the body in bytes"),
    Answer.SERVER_ERROR: (Reason.SERVER_ERROR, "The target failed"),
    Answer.MALFORMED: (Reason.MALFORMED, "The exchange broke off or was malformed"),
    Answer.UNREACHABLE: (Reason.UNREACHABLE, "The target could not be reached"),
}
"""Answers that say nothing about a length limit."""


def detect_status_contract(evidence: Evidence) -> tuple[Finding, ...]:
    """Return exactly one finding, whatever came back; none where a request broken on purpose was served or refused.

    "400 expected" is a set: a rejection for length counts in whatever shape it came; a refusal for another reason,
    a time-out or a server error counts as neither rejection nor service. Of broken requests `malformed_request` says
    whether they were refused as due.
    """
    if evidence.observation.failure is FailureKind.INTERNAL:
        message = "Sending failed by a fault of the prober itself."
        return (_finding(evidence, Outcome.INCONCLUSIVE, Reason.INTERNAL_ERROR, message),)
    is_broken = evidence.probe.options.malformation is not None
    if is_broken and (evidence.answer.is_rejected or evidence.answer.is_served):
        return ()
    if evidence.answer.is_rejected:
        return (_rejected(evidence),)
    if evidence.answer in {Answer.SERVED_FULL, Answer.TRUNCATED, Answer.STARVED}:
        return (_served(evidence),)
    reason, words = _SILENT[evidence.answer]
    message = f"{words}{_how(evidence)}{_unseen(evidence)}."
    return (_finding(evidence, Outcome.INCONCLUSIVE, reason, message),)


def _rejected(evidence: Evidence) -> Finding:
    if _expectation(evidence) is Expectation.SERVE:
        message = f"{_size(evidence)} were refused for their length although they should fit: the limit is lower."
        return _finding(evidence, Outcome.INCONCLUSIVE, Reason.REJECTED_BELOW_LIMIT, message)
    message = f"{_size(evidence)} were refused for their length, as due."
    return _finding(evidence, Outcome.CLEAN, Reason.REJECTED_AS_DUE, message)


def _served(evidence: Evidence) -> Finding:
    if is_truncated(evidence.target, evidence.prompt, evidence.observation.usage):
        return _truncated(evidence)
    if _is_truncation_unseen(evidence):
        message = f"{_size(evidence)} were answered without a token count: whether truncated was not seen."
        return _finding(evidence, Outcome.INCONCLUSIVE, Reason.USAGE_MISSING, message)
    if (certain_tokens(evidence.prompt, evidence.observation.usage) or 0) >= evidence.target.context_tokens:
        return _served_over_context(evidence)
    if _expectation(evidence) is Expectation.REJECT:
        message = f"{_size(evidence)} were answered in full where a refusal was due."
        return _finding(evidence, Outcome.SUSPECT, Reason.SERVED_OVER_LIMIT, message)
    if evidence.answer is Answer.STARVED:
        return _starved(evidence)
    return _finding(evidence, Outcome.CLEAN, Reason.SERVED, f"{_size(evidence)} were served.")


def _starved(evidence: Evidence) -> Finding:
    if is_cut_on_purpose(evidence.probe):
        message = f"{_size(evidence)} were served, and the answer cut in its reasoning as planned."
        return _finding(evidence, Outcome.INCONCLUSIVE, Reason.ABANDONED, message)
    message = f"{_size(evidence)} were served, but the LLM used up its output on reasoning."
    return _finding(evidence, Outcome.INCONCLUSIVE, Reason.STARVED, message)


def _is_truncation_unseen(evidence: Evidence) -> bool:
    return (
        evidence.target.overlong is OverlongContract.TRUNCATE
        and evidence.observation.usage.prompt_tokens is None
        and _expectation(evidence) is not Expectation.SERVE
    )


def _served_over_context(evidence: Evidence) -> Finding:
    """Deterministic, hence a page by itself; under auto-truncation the count may be a decode worker's own copy."""
    is_promised = evidence.target.overlong is OverlongContract.REJECT
    message = f"{_size(evidence)} were answered in full by a context of {evidence.target.context_tokens:,} tokens."
    outcome = Outcome.VIOLATION if is_promised else Outcome.SUSPECT
    return _finding(evidence, outcome, Reason.SERVED_OVER_CONTEXT, message)


def _truncated(evidence: Evidence) -> Finding:
    """Silent truncation breaks a contract to refuse; under a contract to truncate it may only begin at the limit."""
    message = f"{_size(evidence)} were cut to {evidence.observation.usage.prompt_tokens or 0:,} tokens and answered."
    if evidence.target.overlong is OverlongContract.REJECT:
        outcome = Outcome.SUSPECT
    elif _expectation(evidence) is Expectation.SERVE:
        outcome = Outcome.INCONCLUSIVE
    else:
        outcome = Outcome.CLEAN
    return _finding(evidence, outcome, Reason.TRUNCATED, message)


def _expectation(evidence: Evidence) -> Expectation:
    """Return the plan's expectation, or EITHER where the server's agreeing count lies across the limit from it.

    Under a contract to truncate, a count equal to the limit is the longest honest answer.
    """
    planned, counted = evidence.prompt.planned_tokens, _counted(evidence)
    if planned is None or counted is None:
        return evidence.probe.expectation
    limit = evidence.target.first_rejected_tokens
    is_across = (planned < limit) != (counted < limit)
    is_cut_to_limit = evidence.target.overlong is OverlongContract.TRUNCATE and counted == limit
    return Expectation.EITHER if is_across or is_cut_to_limit else evidence.probe.expectation


def _counted(evidence: Evidence) -> int | None:
    """Return the server's own count, from its usage or its refusal, where it agrees with the plan."""
    usage, refusal = evidence.observation.usage, evidence.observation.refusal
    if is_as_planned(evidence.prompt, usage):
        return usage.prompt_tokens
    planned = evidence.prompt.planned_tokens
    if refusal is None or refusal.stated_tokens is None or planned is None:
        return None
    is_close = abs(refusal.stated_tokens - planned) <= evidence.prompt.token_tolerance
    return refusal.stated_tokens if is_close else None


def _how(evidence: Evidence) -> str:
    """Say what mends it: our own words on the failure, else the status."""
    observation = evidence.observation
    if observation.failure is not None and observation.failure_detail:
        return f" ({observation.failure_detail})"
    return "" if observation.status is None else f" (HTTP {observation.status})"


def _unseen(evidence: Evidence) -> str:
    """Say what therefore stays unknown; a prompt that nobody counted yet was not sent for its length."""
    tokens = certain_tokens(evidence.prompt, evidence.observation.usage)
    return "" if tokens is None else f": whether {tokens:,} prompt tokens are served or refused as due was not seen"


def _size(evidence: Evidence) -> str:
    tokens = certain_tokens(evidence.prompt, evidence.observation.usage)
    return "An unknown number of prompt tokens" if tokens is None else f"{tokens:,} prompt tokens"


def _finding(evidence: Evidence, outcome: Outcome, reason: Reason, message: str) -> Finding:
    return Finding(detector=_NAME, outcome=outcome, reason=reason, message=message, probe_label=evidence.probe.label)
