"""When an answer is a fair trial of the LLM's recall, and the change detection over such trials."""

import math

from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.probe import Probe
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

LEAST_RELIABLE_PASSES = 8
LEAST_RELIABLE_RATE = 0.95
"""As often as the change detection takes for honest. An LLM of 135M parameters (SmolLM2) misses one needle in ten and
fills some of these answers with words of its own; it gets so far in less than half of its runs."""

_OUTPUT_TOKENS_PER_NEEDLE = {Ask.PHRASES_AND_COPY: 16, Ask.END_PHRASE: 16, Ask.ONE_FACT: 24}
"""`The harbour phrase is a b c.` in any known tokenizer, with room; of six words where one fact is asked for."""

_NEEDLES_ASKED = {Ask.PHRASES_AND_COPY: 3, Ask.END_PHRASE: 1, Ask.ONE_FACT: 1}


def least_output_tokens(ask: Ask) -> int:
    """Say how many output tokens an answer needs to be a trial of recall; with fewer, no answer ever is one."""
    return _OUTPUT_TOKENS_PER_NEEDLE[ask] * _NEEDLES_ASKED[ask]


def is_free(probe: Probe) -> bool:
    """The answer is the LLM's own: no constraint, favoured token or budget of reasoning, no fault in the request."""
    options = probe.options
    is_bound = bool(options.choices) or options.favoured_token is not None or options.reasoning_budget is not None
    return not is_bound and options.malformation is None


def is_fair(evidence: Evidence) -> bool:
    """The LLM saw the whole prompt, was asked for a needle and free to answer, and had room to."""
    asked = evidence.reading.recall.asked
    return (
        bool(asked)
        and evidence.answer is Answer.SERVED_FULL
        and is_free(evidence.probe)
        and _output_room(evidence) >= _OUTPUT_TOKENS_PER_NEEDLE[evidence.probe.prompt.ask] * len(asked)
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
    return compared_miss(evidence)


def compared_miss(evidence: Evidence) -> bool | None:
    """As `recall_trial`, but a refusal counts as a miss: for comparisons, of which both sides refuse alike."""
    if not is_fair(evidence):
        return None
    if is_decisive_missed(evidence) and has_reasoned(evidence) and evidence.observation.finish_reason == "length":
        return None
    return is_decisive_missed(evidence)


def is_reliable(trials: int, passes: int) -> bool:
    """So few missed trials that an invented answer is news: weak LLMs ramble where they should recall."""
    return passes >= LEAST_RELIABLE_PASSES and passes >= LEAST_RELIABLE_RATE * trials


def is_proven(trials: int, passes: int) -> bool:
    """So many passed trials show that the LLM can do the task; a weak one's misses and inventions mean nothing."""
    return passes >= LEAST_PASSES and passes >= LEAST_PASS_RATE * trials


def has_reasoned(evidence: Evidence) -> bool:
    """Part of the output was reasoning, whose wording is free."""
    observation = evidence.observation
    return evidence.target.thinking or observation.reasoning_characters > 0 or bool(observation.usage.reasoning_tokens)
