"""Do the reported token counts fit what was sent?"""

from prober.detect.cache_trial import is_of_primed_text
from prober.detect.counts import LEARNING_PROBES, credible_cached_tokens, is_as_planned, is_truncated
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome

_NAME = "usage"

CACHED_STEP_TOKENS = 128
"""Cache hits are counted in blocks of at most this many tokens; a rise by one block or more is a change."""


def detect_usage(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge prompt and cached token counts of served answers. Truncation is the status contract's business.

    A request broken on purpose has no count to expect; text sent before may be cached by right.
    """
    if not evidence.answer.is_served or evidence.answer is Answer.REROUTED or evidence.probe.options.malformation:
        return ()
    return _prompt_tokens(evidence) + _cached_tokens(evidence)


def _prompt_tokens(evidence: Evidence) -> tuple[Finding, ...]:
    planned, reported = evidence.prompt.planned_tokens, evidence.observation.usage.prompt_tokens
    if reported is None:
        return (_finding(evidence, Outcome.INCONCLUSIVE, Reason.USAGE_MISSING, "The answer reports no prompt tokens."),)
    if planned is None or is_truncated(evidence.target, evidence.prompt, evidence.observation.usage):
        return ()
    counts = f"{reported:,} prompt tokens reported, {planned:,} planned (+-{evidence.prompt.token_tolerance})"
    if is_as_planned(evidence.prompt, evidence.observation.usage):
        return (_finding(evidence, Outcome.CLEAN, Reason.USAGE_AS_PREDICTED, f"{counts}: as predicted."),)
    return (_finding(evidence, Outcome.SUSPECT, Reason.USAGE_MISMATCH, f"{counts}: they do not fit."),)


def _cached_tokens(evidence: Evidence) -> tuple[Finding, ...]:
    """Alert on a change of the endpoint's own habit only: healthy endpoints report all kinds of nonsense."""
    cached = credible_cached_tokens(evidence.observation.usage)
    baseline = evidence.history.cached_tokens_baseline
    if baseline is None and evidence.history.probes >= LEARNING_PROBES:
        baseline = 0
    if cached is None or baseline is None or is_of_primed_text(evidence):
        return ()
    if cached < baseline + CACHED_STEP_TOKENS:
        return ()
    message = (
        f"{cached:,} cached tokens reported for text never sent before; this endpoint reported {baseline:,} so far."
    )
    return (_finding(evidence, Outcome.SUSPECT, Reason.CACHE_HIT_ON_NEW_TEXT, message),)


def _finding(evidence: Evidence, outcome: Outcome, reason: Reason, message: str) -> Finding:
    return Finding(detector=_NAME, outcome=outcome, reason=reason, message=message, probe_label=evidence.probe.label)
