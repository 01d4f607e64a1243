"""What the remote did with one probe, named."""

from collections.abc import Mapping

from prober.detect.counts import is_truncated
from prober.domain.answer import Answer
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.target import Target

_BY_FAILURE = {
    FailureKind.CONNECT: Answer.UNREACHABLE,
    FailureKind.DNS: Answer.UNREACHABLE,
    FailureKind.TLS: Answer.UNREACHABLE,
    FailureKind.PROXY: Answer.UNREACHABLE,
    FailureKind.WRITE: Answer.UNREACHABLE,
    FailureKind.INTERNAL: Answer.UNREACHABLE,
    FailureKind.HANG: Answer.HANG,
    FailureKind.ABANDONED: Answer.ABANDONED,
    FailureKind.CLOSED_EARLY: Answer.MALFORMED,
    FailureKind.PROTOCOL: Answer.MALFORMED,
    FailureKind.TOO_LARGE: Answer.MALFORMED,
}
"""INTERNAL reached nobody either; detectors name it as our own fault."""

_BY_REFUSAL = {
    RefusalReason.LENGTH: Answer.REJECTED_OK,
    RefusalReason.AUTH: Answer.UNAUTHORISED,
    RefusalReason.RATE: Answer.BUSY,
    RefusalReason.OVERLOAD: Answer.BUSY,
    RefusalReason.BYTES: Answer.TOO_MANY_BYTES,
    RefusalReason.NOT_FOUND: Answer.NOT_FOUND,
    RefusalReason.SERVER: Answer.SERVER_ERROR,
    RefusalReason.OTHER: Answer.REFUSED_OTHERWISE,
}

_BY_STATUS = {
    401: Answer.UNAUTHORISED,
    403: Answer.UNAUTHORISED,
    404: Answer.NOT_FOUND,
    413: Answer.TOO_MANY_BYTES,
    429: Answer.BUSY,
    503: Answer.BUSY,
}
"""For a status whose body told nothing."""

_BY_FINISH = {
    "abort": Answer.SERVER_ERROR,
    "error": Answer.SERVER_ERROR,
    "content_filter": Answer.REFUSED_OTHERWISE,
}
"""Finish reasons under status 200 that say: not served (SGLang `abort`, vLLM and Workers AI `error`)."""


def classify(target: Target, probe: Probe, prompt: Prompt, observation: Observation) -> Answer:
    """Name what the remote did. Needs the observation with its text channels still in place.

    Total: every observation has exactly one answer. An answer that was cut is MALFORMED, HANG or ABANDONED even if
    tokens came; what they said is judged all the same, from the reading. A request that we broke on purpose is rejected
    as due by any refusal for its form.
    """
    answer = _unserved(observation)
    if answer is Answer.REFUSED_OTHERWISE and probe.options.malformation is not None:
        return _due_refusal(observation)
    if answer is not None:
        return answer
    if _is_rerouted(observation.evidence_headers):
        return Answer.REROUTED
    if not observation.text.strip() and observation.finish_reason not in {"tool_calls", "function_call"}:
        return Answer.STARVED if _has_reasoned(target, probe, observation) else Answer.EMPTY
    return Answer.TRUNCATED if is_truncated(target, prompt, observation.usage) else Answer.SERVED_FULL


def _unserved(observation: Observation) -> Answer | None:
    """Everything but a whole answer under a 2xx status; None for that one."""
    failure, refusal, status = observation.failure, observation.refusal, observation.status
    if refusal is not None and failure not in {FailureKind.INTERNAL, FailureKind.ABANDONED}:
        return _refused(observation, refusal)
    if failure is not None:
        return _BY_FAILURE[failure]
    if status is not None and not 200 <= status < 300:  # noqa: PLR2004 - the 2xx class
        return _by_status(status)
    is_broken = observation.bad_frames > 0 or not observation.is_terminated
    if status is None or (is_broken and not _has_tokens(observation)):
        return Answer.MALFORMED
    return _BY_FINISH.get(observation.finish_reason or "")


def _refused(observation: Observation, refusal: Refusal) -> Answer:
    if refusal.reason is not RefusalReason.LENGTH or not refusal.in_stream:
        return _BY_REFUSAL[refusal.reason]
    # A rejection that comes after generated tokens is none: the prompt was already being answered.
    return Answer.MALFORMED if _has_tokens(observation) else Answer.REJECTED_IN_STREAM


def _due_refusal(observation: Observation) -> Answer:
    """A refusal that comes after generated tokens is none, as for a length; nor is a redirect or a content filter."""
    if observation.refusal is None and not 400 <= (observation.status or 0) < 500:  # noqa: PLR2004 - the 4xx class
        return Answer.REFUSED_OTHERWISE
    if _has_tokens(observation):
        return Answer.MALFORMED
    is_in_stream = observation.refusal is not None and observation.refusal.in_stream
    return Answer.REJECTED_IN_STREAM if is_in_stream else Answer.REJECTED_OK


def _by_status(status: int) -> Answer:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Answer.SERVER_ERROR if status >= 500 else Answer.REFUSED_OTHERWISE  # noqa: PLR2004 - the 5xx class


def _has_tokens(observation: Observation) -> bool:
    return bool(observation.text or observation.reasoning or observation.token_frames)


def _is_rerouted(headers: Mapping[str, str]) -> bool:
    """A gateway says that another LLM, or its response cache, answered (LiteLLM, Cloudflare AI Gateway)."""
    marks = {name.lower(): value.strip().lower() for name, value in headers.items()}
    return marks.get("x-litellm-attempted-fallbacks", "0") not in {"", "0"} or marks.get("cf-aig-cache-status") == "hit"


def _has_reasoned(target: Target, probe: Probe, observation: Observation) -> bool:
    """The output went into reasoning, shown or hidden, rather than nowhere."""
    if observation.reasoning.strip() or observation.usage.reasoning_tokens:
        return True
    spent = observation.usage.completion_tokens
    used_up = observation.finish_reason == "length" and (spent is None or spent >= probe.max_output_tokens)
    return target.thinking and used_up
