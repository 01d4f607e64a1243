"""When an answer is a fair trial of the LLM's recall, and the change detection over such trials."""

import math

from prober.domain.evidence import Answer, Evidence
from prober.domain.prompt import NeedlePosition
from prober.domain.target import Ask
from prober.stats.cusum import Cusum

RECALL_CUSUM = Cusum(honest_rate=0.05, broken_rate=0.9, threshold=math.log(1e4))
"""Trials fail when the decisive END needle is missing. Four failures in a row raise the alarm; a healthy target raises
one in at least 10,000 trials even at 5 %, and honest LLMs miss one plain needle in 0.3-2 %."""

LEAST_PASSES = 5
LEAST_PASS_RATE = 0.8
"""Positive control: honest LLMs that can do the task recall a literal needle in 98 % and more; one that recalls half of
them passes five in a row in 3 % of runs."""

_OUTPUT_TOKENS_PER_NEEDLE = 16
"""`The harbour phrase is a b c.` in any known tokenizer, with room."""

_NEEDLES_ASKED = {Ask.PHRASES_AND_COPY: 3, Ask.END_PHRASE: 1}


def least_output_tokens(ask: Ask) -> int:
    """Say how many output tokens an answer needs to be a trial of recall; with fewer, no answer ever is one."""
    return _OUTPUT_TOKENS_PER_NEEDLE * _NEEDLES_ASKED[ask]


def is_fair(evidence: Evidence) -> bool:
    """The LLM saw the whole prompt, was asked for a needle and had room to answer."""
    asked = evidence.reading.recall.asked
    return (
        bool(asked)
        and evidence.answer is Answer.SERVED_FULL
        and _output_room(evidence) >= _OUTPUT_TOKENS_PER_NEEDLE * len(asked)
    )


def _output_room(evidence: Evidence) -> int:
    """Tokens the answer could have; engines cut it where prompt and answer together pass the context window."""
    used = evidence.observation.usage.prompt_tokens or evidence.prompt.planned_tokens or 0
    return min(evidence.probe.max_output_tokens, evidence.target.context_tokens - used)


def is_decisive_missed(evidence: Evidence) -> bool:
    """The END needle is missing; where none was planted, all of them."""
    recall = evidence.reading.recall
    return recall.is_end_missed or (NeedlePosition.END not in recall.asked and recall.is_all_missed)


def recall_trial(evidence: Evidence) -> bool | None:
    """True: failed; False: passed; None: no trial.

    Refusals are none. Nor are answers whose output ran out after reasoning: the needles may have been about to come.
    """
    if not is_fair(evidence) or evidence.reading.is_refusal_like:
        return None
    if is_decisive_missed(evidence) and has_reasoned(evidence) and evidence.observation.finish_reason == "length":
        return None
    return is_decisive_missed(evidence)


def is_proven(trials: int, passes: int) -> bool:
    """So many passed trials show that the LLM can do the task; a weak one's misses and inventions mean nothing."""
    return passes >= LEAST_PASSES and passes >= LEAST_PASS_RATE * trials


def has_reasoned(evidence: Evidence) -> bool:
    """Part of the output was reasoning, whose wording is free."""
    observation = evidence.observation
    return evidence.target.thinking or observation.reasoning_characters > 0 or bool(observation.usage.reasoning_tokens)
