"""Success on the wire that was none: empty answers, error frames under status 200, broken streams, another LLM."""

from prober.detect.counts import is_truncated
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.observation import RefusalReason
from prober.domain.options import Malformation
from prober.domain.outcome import Outcome
from prober.domain.target import OverlongContract

_NAME = "protocol"

_OUTPUT_LIMITS = frozenset({Malformation.NEGATIVE_MAX_TOKENS, Malformation.OUTPUT_BEYOND_CONTEXT})
"""A server that clamps such a limit to nothing ends at once, honestly."""


def detect_protocol(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge the form of the exchange, whatever was expected of it."""
    return (
        *_empty_answer(evidence),
        *_error_in_stream(evidence),
        *_broken_stream(evidence),
        *_changed_llm(evidence),
    )


def _empty_answer(evidence: Evidence) -> tuple[Finding, ...]:
    """`length` without a token is an error path written up as success; an immediate `stop` may be an honest one."""
    if evidence.answer is not Answer.EMPTY:
        return ()
    observation = evidence.observation
    is_known_truncation = evidence.target.overlong is OverlongContract.TRUNCATE and is_truncated(
        evidence.target, evidence.prompt, observation.usage
    )
    is_clamped = evidence.probe.options.malformation in _OUTPUT_LIMITS
    is_lie = observation.finish_reason == "length" and not is_known_truncation and not is_clamped
    return (
        _finding(
            evidence,
            Outcome.SUSPECT if is_lie else Outcome.INCONCLUSIVE,
            Reason.EMPTY_ANSWER,
            "The answer claims to have reached its length without any text."
            if is_lie
            else "The answer holds no text, so nothing in it could be judged.",
        ),
    )


def _error_in_stream(evidence: Evidence) -> tuple[Finding, ...]:
    refusal = evidence.observation.refusal
    if refusal is None or not refusal.in_stream or evidence.answer is Answer.REJECTED_IN_STREAM:
        return ()
    what = "a length rejection after generated text" if refusal.reason is RefusalReason.LENGTH else "an error"
    message = f"The stream began with status 200 and then carried {what}."
    return (_finding(evidence, Outcome.INCONCLUSIVE, Reason.ERROR_IN_STREAM, message),)


def _broken_stream(evidence: Evidence) -> tuple[Finding, ...]:
    """Only of answers that still count as served: the status contract names the others."""
    observation = evidence.observation
    if not evidence.answer.is_served or (observation.is_terminated and not observation.bad_frames):
        return ()
    ending = "ended properly" if observation.is_terminated else "ended without its end mark"
    message = f"The stream {ending} and held {observation.bad_frames} unreadable frames; its text may be incomplete."
    return (_finding(evidence, Outcome.INCONCLUSIVE, Reason.MALFORMED, message),)


def _changed_llm(evidence: Evidence) -> tuple[Finding, ...]:
    """The name itself is the peer's text and stays out of the message."""
    reported, known = evidence.observation.model_reported, evidence.history.models_reported
    if evidence.answer is Answer.REROUTED or reported is None or not known or reported in known:
        return ()
    message = "The answer names another LLM than all answers before it in this run."
    return (_finding(evidence, Outcome.INCONCLUSIVE, Reason.REROUTED, message),)


def _finding(evidence: Evidence, outcome: Outcome, reason: Reason, message: str) -> Finding:
    return Finding(detector=_NAME, outcome=outcome, reason=reason, message=message, probe_label=evidence.probe.label)
