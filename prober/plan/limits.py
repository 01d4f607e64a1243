"""What a target should do with a length, what it did, and where its limits therefore lie."""

import enum
from collections.abc import Iterable

from prober.domain.answer import Answer
from prober.domain.evidence import Judgement
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation
from prober.domain.target import Target
from prober.domain.verdict import LimitMap

PLAUSIBLE_COUNT_SHARE = 0.02
"""A server's count further than this from the plan (and beyond its tolerance) is a truncation's, or a stub's."""

LEAK_SIGNS = frozenset(
    {
        Reason.FOREIGN_CANARY,
        Reason.FOREIGN_FRAGMENTS,
        Reason.LATE_ECHO,
        Reason.FOREIGN_TEXT,
        Reason.SERVED_OVER_CONTEXT,
        Reason.SERVED_OVER_LIMIT,
        Reason.PREFILL_TOO_FAST,
        Reason.RECALL_COLLAPSED,
        Reason.NEAR_DUPLICATE_ANSWER,
        Reason.DUPLICATE_RESPONSE_ID,
        Reason.REPLAY_DIVERGED,
        Reason.GARBLED,
        Reason.TOKENS_DOUBLED,
        Reason.LOST_UNDER_LOAD,
        Reason.VOCABULARY_COLLAPSED,
        Reason.REASONING_CUT,
        Reason.STREAM_BROKEN,
        Reason.SERVED_INVALID,
        Reason.CACHE_SHARED,
    }
)
"""Reasons that say an answer was made of something else than its request, or its prompt read from somebody else's
cache; SUSPECT or worse, they are hits."""


class Soundness(enum.Enum):
    """What one judgement says about its length."""

    SOUND = "sound"
    """Served in full, from its own prompt as far as can be told."""
    REJECTED = "rejected"
    WRONG = "wrong"
    """Served although it should not have been, or served with a sign of a leak."""
    DOUBTFUL = "doubtful"
    """Served in full, but the decisive needle is missing."""
    UNJUDGED = "unjudged"


def expectation(
    target: Target, tokens: int, max_output_tokens: int, *, verified_tokens: int, slack_tokens: int = 0
) -> Expectation:
    """Say what a healthy target does with a prompt of `tokens`, give or take `slack_tokens`.

    REJECT from the context window on, and from the first rejected length on where the pool is known. SERVE below
    both, as long as prompt and answer fit the window together. All else is EITHER: engines differ on whether they
    refuse or clamp an answer that overflows, and on the last few tokens of the window; and a pool nobody told us may
    be smaller than the window, so above `verified_tokens` (known to be served) a refusal is as legal as an answer.
    """
    if slack_tokens:
        ends = [
            expectation(target, tokens + slack, max_output_tokens, verified_tokens=verified_tokens)
            for slack in (-slack_tokens, slack_tokens)
        ]
        return ends[0] if ends[0] is ends[1] else Expectation.EITHER
    is_pool_known = target.prefill_pool_tokens is not None
    if tokens >= (target.first_rejected_tokens if is_pool_known else target.context_tokens):
        return Expectation.REJECT
    fits = tokens < target.first_rejected_tokens and tokens + max_output_tokens <= target.context_tokens
    if fits and (is_pool_known or tokens <= verified_tokens):
        return Expectation.SERVE
    return Expectation.EITHER


def reported_tokens(judgement: Judgement) -> int | None:
    """Return the server's own count of the prompt, from usage or from a refusal; None if it gave none worth believing.

    A stub reports 1, a truncated prompt its remainder, and some refusals stop counting at the limit: such counts
    are not the prompt's.
    """
    evidence = judgement.evidence
    if evidence.answer.is_served:
        count = evidence.observation.usage.prompt_tokens
    else:
        refusal = evidence.observation.refusal
        count = None if refusal is None else refusal.stated_tokens
    planned = evidence.prompt.planned_tokens
    if count is None or planned is None:
        return count
    slack = max(evidence.prompt.token_tolerance, planned * PLAUSIBLE_COUNT_SHARE)
    return count if abs(count - planned) <= slack else None


def counted_tokens(judgement: Judgement) -> int | None:
    """Length of the prompt: the server's count, else ours; None while calibrating without an answer."""
    reported = reported_tokens(judgement)
    return judgement.evidence.prompt.planned_tokens if reported is None else reported


def is_hit(judgement: Judgement) -> bool:
    """True for any violation, and for a suspicion that carries a sign of a leak: what deserves a fresh re-probe."""
    return any(
        finding.outcome is Outcome.VIOLATION or (finding.outcome is Outcome.SUSPECT and finding.reason in LEAK_SIGNS)
        for finding in judgement.findings
    )


def soundness(judgement: Judgement) -> Soundness:
    """Classify one judgement for the search of a length limit; a request broken on purpose says nothing about it."""
    evidence = judgement.evidence
    is_broken = evidence.probe.options.malformation is not None
    if evidence.answer.is_rejected and not is_broken:
        return Soundness.REJECTED
    if is_broken or not evidence.answer.is_served:
        return Soundness.UNJUDGED
    is_due_refusal = evidence.probe.expectation is Expectation.REJECT and evidence.answer is Answer.SERVED_FULL
    if is_hit(judgement) or is_due_refusal:
        return Soundness.WRONG
    if evidence.answer is not Answer.SERVED_FULL:
        return Soundness.UNJUDGED
    if evidence.reading.recall.is_end_missed and _had_room(judgement):
        return Soundness.DOUBTFUL
    return Soundness.SOUND


def limit_map(judgements: Iterable[Judgement]) -> LimitMap:
    """Fold a run's judgements into where its length limits were found.

    `largest_served` stays below `first_wrong`: beyond a wrong answer, one that merely looks sound proves nothing.
    """
    lengths: dict[Soundness, list[int]] = {kind: [] for kind in Soundness}
    for judgement in judgements:
        tokens = counted_tokens(judgement)
        if tokens is not None:
            lengths[soundness(judgement)].append(tokens)
    first_wrong = min(lengths[Soundness.WRONG], default=None)
    sound = [tokens for tokens in lengths[Soundness.SOUND] if first_wrong is None or tokens < first_wrong]
    return LimitMap(
        largest_served=max(sound, default=None),
        smallest_rejected=min(lengths[Soundness.REJECTED], default=None),
        first_wrong=first_wrong,
    )


def _had_room(judgement: Judgement) -> bool:
    """Prompt and answer fit the window together: where they do not, some engines cut the answer short."""
    evidence = judgement.evidence
    tokens = counted_tokens(judgement) or 0
    return tokens + evidence.probe.max_output_tokens <= evidence.target.context_tokens
