"""Are tokens doubled, lost, or those of a neighbour?"""

import math
from typing import Final

from prober.detect.charts import DOUBLED, EMPTY, STRAYS
from prober.detect.corruption import is_stray
from prober.detect.recall import has_reasoned, is_fair, is_free
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome

_NAME = "tokens"

LEAST_LOST: Final = 4
"""Generated tokens of which none may be seen: an end mark and a blank are two."""

LEAST_STRAYS: Final = 2
STRAY_RATE: Final = 1e-3
"""Honest closed-world answers with so many words of others' phrases in place of their own: two of six words miscopied
at 2 % a word (0.6 %), both as other words of live phrases rather than misspelt (at most two in five each)."""


def detect_tokens(evidence: Evidence) -> tuple[Finding, ...]:
    """Judge single tokens, once the LLM has shown that it can do the task.

    Doubled words are counted over the run against an honest 0.5 % (SUSPECT once in 10,000 answers at that rate). No
    text at all although at least four tokens were generated is SUSPECT (vLLM issue #46669: null content, status 200;
    honest where reasoning is hidden, which thinking targets say). So are empty answers that become common. A
    closed-world answer without its phrase, but with two words of other live phrases, is SUSPECT (1 in 1,000 answers);
    so is one with a single such word once these become common.
    """
    if not evidence.history.is_recall_proven or not is_free(evidence.probe):
        return ()
    return (*_doubled(evidence), *_lost(evidence), *_stray(evidence))


def _doubled(evidence: Evidence) -> tuple[Finding, ...]:
    if not DOUBLED.alarms(evidence):
        return ()
    message = (
        f"Words come twice in a row, {evidence.reading.garble.doubled_words} of {evidence.reading.words} in this "
        "answer, and in the run far more often than honest copying doubles them."
    )
    return (_finding(evidence, Reason.TOKENS_DOUBLED, message),)


def _lost(evidence: Evidence) -> tuple[Finding, ...]:
    if evidence.answer is not Answer.EMPTY or has_reasoned(evidence):
        return ()
    generated = evidence.observation.usage.completion_tokens or 0
    if generated >= LEAST_LOST:
        message = f"{generated} tokens were generated, and the answer holds no text."
        return (_finding(evidence, Reason.EMPTY_ANSWER, message),)
    if EMPTY.alarms(evidence):
        message = "Answers without any text have become common among answers that have some."
        return (_finding(evidence, Reason.EMPTY_ANSWER, message),)
    return ()


def _stray(evidence: Evidence) -> tuple[Finding, ...]:
    strays = evidence.reading.stray_words
    is_telling = strays >= LEAST_STRAYS or STRAYS.alarms(evidence)
    if not is_fair(evidence) or not is_stray(evidence) or not is_telling:
        return ()
    bits = -math.log2(STRAY_RATE)
    message = (
        f"In place of its own phrase the answer holds words that stand in phrases of other prompts only ({strays}), "
        f"{bits:.1f} bits."
    )
    return (_finding(evidence, Reason.FOREIGN_FRAGMENTS, message, bits=bits),)


def _finding(evidence: Evidence, reason: Reason, message: str, *, bits: float = 0.0) -> Finding:
    return Finding(
        detector=_NAME,
        outcome=Outcome.SUSPECT,
        reason=reason,
        message=message,
        probe_label=evidence.probe.label,
        evidence_bits=bits,
    )
