"""What token counts can be believed: healthy servers lie in known ways, and leaking ones report exact figures."""

from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.observation import Usage
from prober.domain.prompt import Prompt
from prober.domain.target import OverlongContract, Target

TRUNCATED_SHARE = 0.98
"""Below this share of the planned length a smaller count is a truncation rather than a miscount."""

LEARNING_PROBES = 3
"""Probes without any cached count after which the endpoint is taken to leave out zeros, as SGLang does."""

_NO_TRUNCATION_SHARE = 0.01
_NO_TRUNCATION_TOKENS = 64
"""No server truncates to so little: SGLang reports `prompt_tokens` = 1 for a request it rejected (issue #30233)."""


def is_as_planned(prompt: Prompt, usage: Usage) -> bool:
    """The reported prompt length is the planned one within the prompt's tolerance; False when either is unknown."""
    if prompt.planned_tokens is None or usage.prompt_tokens is None:
        return False
    return abs(usage.prompt_tokens - prompt.planned_tokens) <= prompt.token_tolerance


def is_truncated(target: Target, prompt: Prompt, usage: Usage) -> bool:
    """The server counts credibly fewer prompt tokens than were sent: it answered a shortened prompt.

    Either well fewer, or as many as the known limit allows where the prompt was longer (SGLang cuts to the limit).
    """
    planned, reported = prompt.planned_tokens, usage.prompt_tokens
    if planned is None or reported is None or reported >= planned - prompt.token_tolerance:
        return False
    is_cut_to_limit = reported <= target.first_rejected_tokens <= planned
    least = max(_NO_TRUNCATION_TOKENS, _NO_TRUNCATION_SHARE * planned)
    return reported >= least and (is_cut_to_limit or reported < TRUNCATED_SHARE * planned)


def certain_tokens(prompt: Prompt, usage: Usage) -> int | None:
    """Length that the prompt had at least, in tokens: the server's own count where it agrees with the plan.

    Elsewhere the plan less its tolerance; without a plan (calibration) the server's count, which may be None.
    """
    if prompt.planned_tokens is None or is_as_planned(prompt, usage):
        return usage.prompt_tokens
    return max(1, prompt.planned_tokens - prompt.token_tolerance)


def prefilled_tokens(evidence: Evidence) -> int | None:
    """Tokens that an honest target had to prefill before its first token; None when unknown.

    A truncated prompt counts as long as the server says. Where truncation is the contract, never more than the known
    limit: a decode worker may count its own, whole copy of a prompt that was shortened before the prefill.
    """
    if evidence.answer is Answer.TRUNCATED:
        return evidence.observation.usage.prompt_tokens
    tokens = certain_tokens(evidence.prompt, evidence.observation.usage)
    if tokens is not None and evidence.target.overlong is OverlongContract.TRUNCATE:
        return min(tokens, evidence.target.first_rejected_tokens)
    return tokens


def credible_cached_tokens(usage: Usage) -> int | None:
    """Cached prompt tokens as reported, or None when not reported or impossible on text with a unique first line.

    vLLM with disaggregation always reports `prompt_tokens - 1` (vLLM issue #43370), SGLang with disaggregation counts
    twice and may pass `prompt_tokens` (SGLang issue #25972): both while healthy.
    """
    if usage.cached_tokens is None:
        return None
    if usage.prompt_tokens is not None and usage.cached_tokens >= usage.prompt_tokens - 1:
        return None
    return usage.cached_tokens
