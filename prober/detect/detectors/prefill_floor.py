"""Did the first token come sooner than any honest prefill of the prompt could be done?"""

from prober.detect.cache_trial import is_of_primed_text
from prober.detect.counts import credible_cached_tokens, prefilled_tokens
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.stats.prefill import Floor, floor_for

_NAME = "prefill_floor"

_CACHED_SHARE = 0.01
"""A legitimate prefix hit above this share of the prompt explains a fast answer."""


def detect_prefill_floor(evidence: Evidence) -> tuple[Finding, ...]:
    """Compare first token minus request start with the floor, for streamed answers longer than the anchors.

    One too-fast answer warns (SUSPECT); a second one in a row, on another fresh prompt, is a VIOLATION. It must have
    been asked for after the first had ended: what is in flight together shares the moment's luck. Nothing is said where
    no floor stands, of text sent before (which may be cached by right), of a request broken on purpose, or of an answer
    from elsewhere.
    """
    timeline = evidence.observation.timeline
    floor = _floor(evidence)
    if floor is None or timeline.first_token is None:
        return ()
    if not timeline.is_trusted and timeline.first_token - timeline.loop_lag_seconds < floor.seconds:
        message = f"The prober's own event loop was {timeline.loop_lag_seconds * 1000:.0f} ms late: timing untrusted."
        return (_finding(evidence, Outcome.INCONCLUSIVE, Reason.TIMING_UNTRUSTED, message),)
    stated = f"First token after {timeline.first_token:.3f} s, floor {floor.seconds:.3f} s ({_source(floor)})"
    if timeline.first_token >= floor.seconds:
        return (_finding(evidence, Outcome.CLEAN, Reason.PREFILL_PLAUSIBLE, f"{stated}: a prefill fits in."),)
    if evidence.history.fast_probe_labels and _is_later(evidence):
        message = (
            f"{stated}: too fast for a prefill, twice in a row (before: {evidence.history.fast_probe_labels[-1]})."
        )
        return (_finding(evidence, Outcome.VIOLATION, Reason.PREFILL_TOO_FAST, message, is_confirmed=True),)
    return (_finding(evidence, Outcome.SUSPECT, Reason.PREFILL_TOO_FAST, f"{stated}: too fast for a prefill."),)


def _floor(evidence: Evidence) -> Floor | None:
    tokens = prefilled_tokens(evidence)
    is_elsewhere = evidence.answer is Answer.REROUTED or not evidence.observation.is_stream
    is_broken = evidence.probe.options.malformation is not None
    if tokens is None or is_elsewhere or is_broken or is_of_primed_text(evidence):
        return None
    if (credible_cached_tokens(evidence.observation.usage) or 0) >= _CACHED_SHARE * tokens:
        return None
    return floor_for(
        tokens,
        anchors=evidence.history.anchors,
        fixed_seconds=evidence.history.quickest_first_token,
        bound=evidence.target.physical_bound,
    )


def _is_later(evidence: Evidence) -> bool:
    """Sent after the latest too-fast answer had ended, as far as that is known."""
    until = evidence.history.fast_until
    return until is None or evidence.observation.sent_at >= until


def _source(floor: Floor) -> str:
    if floor.anchor_tokens is None:
        return "physical bound"
    return f"from verified prefills of {floor.anchor_tokens:,} tokens"


def _finding(
    evidence: Evidence, outcome: Outcome, reason: Reason, message: str, *, is_confirmed: bool = False
) -> Finding:
    return Finding(
        detector=_NAME,
        outcome=outcome,
        reason=reason,
        message=message,
        probe_label=evidence.probe.label,
        is_confirmed=is_confirmed,
    )
