"""One trial of cache sharing (detection-science 9.3): whose text could be cached, whether it was, who was quicker."""

from collections.abc import Iterator
from typing import Final

from prober.detect.counts import LEARNING_PROBES, credible_cached_tokens
from prober.domain.evidence import Evidence
from prober.domain.mark import AnswerMark
from prober.domain.options import Arm, Trial
from prober.domain.target import TextForm
from prober.prompt.word_stream import WORDS_PER_LINE

STEP_TOKENS: Final = 128
"""Above what fresh text reports: hosted caches count in such steps, and no control miss of 3,500 ever showed one."""

_ITEMS_PER_LINE = {TextForm.WORD_STREAM: WORDS_PER_LINE, TextForm.NUMBERED_LINES: 1}
_LEAST_STEP = 16
"""The smallest page of a prefix cache (vLLM): a smaller difference is no page."""

_PRIMING = frozenset({Arm.PRIME, Arm.HIT, Arm.CONTROL, Arm.CHECK})
"""Arms that leave the shared text behind."""


def is_of_primed_text(evidence: Evidence) -> bool:
    """Part or all of the text was sent before: cached by right for some, and then answered sooner."""
    spec = evidence.probe.prompt
    return spec.rewrite_of is not None or (spec.shared is not None and spec.shared.source is not None)


def step_tokens(evidence: Evidence) -> int | None:
    """Cached tokens above the base that a hit on the shared text must report; None: nothing is shared, or no count.

    128, or half the shared text where that is smaller. A cache that counts whole pages reports at least half of any
    text that spans a page at all, and below 16 tokens there is no page.
    """
    spec, prompt = evidence.probe.prompt, evidence.prompt
    tokens = prompt.planned_tokens or evidence.observation.usage.prompt_tokens
    lines = prompt.filler_words // _ITEMS_PER_LINE[spec.form]
    if spec.shared is None or not tokens or lines < 1:
        return None
    shared = tokens * min(spec.shared.lines, lines) // lines
    return max(_LEAST_STEP, min(STEP_TOKENS, shared // 2))


def base_tokens(evidence: Evidence, trial: Trial) -> int | None:
    """Cached tokens that fresh text reports here, at most; None while that is not known.

    The largest of the series' MISS arm and of all never-sent text; 0 for an endpoint that leaves zeros out.
    """
    history = evidence.history
    tally = history.series.get(trial.series)
    seen = [history.cached_tokens_baseline, None if tally is None else tally.miss_cached]
    known = [count for count in seen if count is not None]
    if not known and history.probes >= LEARNING_PROBES:
        return 0
    return max(known, default=None)


def is_crossing(evidence: Evidence, trial: Trial) -> bool:
    """The shared text was put into caches by other tenants of this trial, and never yet by the asking one."""
    if trial.arm not in {Arm.HIT, Arm.CHECK} or not is_of_primed_text(evidence):
        return False
    is_primed = any(_arm(mark) is Arm.PRIME for mark in _fellows(evidence, trial))
    return is_primed and evidence.probe.tenant.number not in primers(evidence, trial)


def primers(evidence: Evidence, trial: Trial) -> frozenset[int]:
    """Numbers of the tenants that have sent the trial's shared text before."""
    return frozenset(mark.tenant_number for mark in _fellows(evidence, trial) if _arm(mark) in _PRIMING)


def is_cached(evidence: Evidence, trial: Trial) -> bool | None:
    """The shared text came from a cache, as the reported count has it; None: not known."""
    step, base = step_tokens(evidence), base_tokens(evidence, trial)
    if step is None or base is None or not evidence.answer.is_served:
        return None
    return (credible_cached_tokens(evidence.observation.usage) or 0) >= base + step


def signs(evidence: Evidence, trial: Trial) -> Iterator[tuple[Arm, bool]]:
    """Pairs that this answer completes: HIT or CONTROL, and whether it had its first token before its MISS.

    Ties, untrusted timings and answers that were not streamed make no pair; of several fellows of one arm the first
    counts.
    """
    own = _first_token(evidence)
    if own is None or any(_arm(mark) is trial.arm for mark in _fellows(evidence, trial)):
        return
    others = {_arm(mark): mark.first_token_seconds for mark in _fellows(evidence, trial)}
    pairs = {Arm.MISS: (Arm.HIT, Arm.CONTROL), Arm.HIT: (Arm.MISS,), Arm.CONTROL: (Arm.MISS,)}
    for arm in pairs.get(trial.arm, ()):
        other = others.get(arm)
        if other is not None and other != own:
            yield (arm, other < own) if trial.arm is Arm.MISS else (trial.arm, own < other)


def _first_token(evidence: Evidence) -> float | None:
    timeline = evidence.observation.timeline
    is_usable = evidence.answer.is_served and evidence.observation.is_stream and timeline.is_trusted
    return timeline.first_token if is_usable else None


def _fellows(evidence: Evidence, trial: Trial) -> list[AnswerMark]:
    return list(evidence.history.marks.of_trial(trial.series, trial.number))


def _arm(mark: AnswerMark) -> Arm | None:
    return None if mark.trial is None else mark.trial.arm
