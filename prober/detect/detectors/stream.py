"""Is one stream one answer, with one end?"""

from typing import Final

from prober.detect.charts import RESTARTED
from prober.detect.recall import is_fair
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.observation import FailureKind
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation

_NAME = "stream"

_REPEATED = 2
ABORT: Final = "abort"
"""Finish reason of SGLang for a request that was aborted; we abort by hanging up, and then see none."""


def detect_stream(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge ids, endings, openings and log probabilities of one answer, however it came.

    SUSPECT: several response ids, but for servers that give every frame one; three endings (some gateways repeat the
    finish reason in the frame that carries usage); log probabilities that do not add up to the text, once others did;
    openings that come again in several answers; a stream that just ends, without an end mark or an error, on a target
    whose other answers have one; an answer said to be aborted that we did not abort. Log probabilities that never add
    up are INCONCLUSIVE: servers differ in them. Of a single opening that comes again nothing is said: small LLMs write
    so.
    """
    if evidence.observation.failure is FailureKind.ABANDONED:
        return ()
    strong, weak = _strong(evidence), _weak(evidence)
    if not strong and not weak:
        return ()
    message = f"The answer is not one answer with one end: {'; '.join((*strong, *weak))}."
    return (
        Finding(
            detector=_NAME,
            outcome=Outcome.SUSPECT if strong else Outcome.INCONCLUSIVE,
            reason=Reason.STREAM_BROKEN,
            message=message,
            probe_label=evidence.probe.label,
        ),
    )


def _strong(evidence: Evidence) -> tuple[str, ...]:
    observation, history = evidence.observation, evidence.history
    is_id_per_frame = observation.response_ids >= observation.token_frames
    signs = (
        (observation.response_ids > 1 and not is_id_per_frame, f"{observation.response_ids} response ids"),
        (observation.finish_marks > _REPEATED, f"{observation.finish_marks} endings"),
        (
            observation.logprobs_agree is False and history.have_logprobs_agreed,
            "log probabilities of other text, where they fitted before",
        ),
        (
            evidence.reading.repeats_opening and is_fair(evidence) and RESTARTED.alarms(evidence),
            "its opening comes again, as in answers before it",
        ),
        (_is_swallowed(evidence), "it stopped without an end mark or an error, where others had one"),
        (_is_false_abort(evidence), "it is said to be aborted, and was not by the prober"),
    )
    return tuple(words for holds, words in signs if holds)


def _weak(evidence: Evidence) -> tuple[str, ...]:
    observation = evidence.observation
    signs = (
        (
            observation.logprobs_agree is False and not evidence.history.have_logprobs_agreed,
            "log probabilities that do not add up to the text",
        ),
    )
    return tuple(words for holds, words in signs if holds)


def _is_false_abort(evidence: Evidence) -> bool:
    """A request that had to be served, and that nobody refused; how else a refusal may end is the status contract's."""
    observation = evidence.observation
    is_valid = evidence.probe.expectation is Expectation.SERVE and evidence.probe.options.malformation is None
    is_said = observation.finish_reason == ABORT and observation.refusal is None
    return is_said and is_valid and evidence.history.clean > 0


def _is_swallowed(evidence: Evidence) -> bool:
    """A cut connection is a failure of its own, and unreadable frames may have been the end mark."""
    observation = evidence.observation
    ended_in_silence = (
        observation.is_stream
        and observation.failure is None
        and observation.refusal is None
        and not observation.is_terminated
        and not observation.bad_frames
        and observation.status is not None
        and 200 <= observation.status < 300  # noqa: PLR2004 - the 2xx class
    )
    return ended_in_silence and evidence.history.clean > 0
