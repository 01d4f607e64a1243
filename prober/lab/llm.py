"""The simulated LLM: sees token ids only, and follows the last request it can see.

When its own question is not in view it follows whatever request stands latest in what it does see; when there is none
it continues the text; on cleared memory it degenerates. That is all it takes for a wrong page table to become a
fluent answer about somebody else's prompt.
"""

import collections
import dataclasses
import random

import numpy as np

from prober.lab.settings import Honesty
from prober.lab.sight import Request, Sight
from prober.lab.tokenizer import PADDING, Ids, Tokenizer

_CONTINUATION_TOKENS = 512
_REFUSAL = "I'm sorry, but I can't help with that request."
_REASONING = "The user wants me to answer from the text above so I look for the part that was asked for first"
_SUMMARY_WORDS = 12
_EDGE_SHARE = 0.1
"""Head and end of a text: its first and last tenth."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The whole answer that a view leads to."""

    reasoning: Ids
    content: Ids

    @property
    def ids(self) -> Ids:
        """Both channels, in the order they are generated."""
        return np.concatenate([self.reasoning, self.content])


class SimulatedLlm:
    """Plans answers. The same view, temperature and seed give the same plan on every role.

    `counters` tells how often each imperfection fired: refusals, shuffles, recall_misses, copy_errors.
    """

    def __init__(self, tokenizer: Tokenizer, honesty: Honesty, counters: collections.Counter[str]) -> None:
        self._tokenizer = tokenizer
        self._honesty = honesty
        self._counters = counters

    def plan(self, ids: Ids, temperature: float, seed: int) -> Plan:
        """Answer what these ids ask for."""
        draw = random.Random(seed)  # noqa: S311 - simulation, no secret
        reasoning = (_REASONING.split() * (1 + self._honesty.reasoning_words // 20))[: self._honesty.reasoning_words]
        return Plan(
            reasoning=self._tokenizer.encode(" ".join(reasoning)), content=self._content(ids, temperature, draw)
        )

    def _content(self, ids: Ids, temperature: float, draw: random.Random) -> Ids:
        sight = Sight(ids, self._tokenizer)
        request = sight.last_request()
        if request is None:
            continued = sight.continuation(_CONTINUATION_TOKENS)
            is_degenerate = sight.is_blank or not continued.size
            return np.full(_CONTINUATION_TOKENS, PADDING, dtype=np.int32) if is_degenerate else continued
        if draw.random() < self._honesty.refusal_rate:
            self._counters["refusals"] += 1
            return self._tokenizer.encode(_REFUSAL)
        return self._tokenizer.encode(self._answer(sight, request, temperature, draw))

    def _answer(self, sight: Sight, request: Request, temperature: float, draw: random.Random) -> str:
        asked = request.instruction
        phrases = [self._phrase(sight, noun, request.position, draw) for noun in asked.nouns]
        if temperature > 0 and draw.random() < self._honesty.shuffle_rate:
            self._counters["shuffles"] += 1
            draw.shuffle(phrases)
        parts = [" ".join(phrases)] if phrases else []
        if asked.subject:
            parts.append((sight.sentence_about(asked.subject) or "The text does not say") + ".")
        if asked.is_summary:
            opening = sight.body_after(request.position, _SUMMARY_WORDS)
            closing = sight.body_before(request.position, _SUMMARY_WORDS)
            parts.append(f"In short: {' '.join(opening)} ... {' '.join(closing)}")
        if asked.copy_words:
            words = sight.body_before(request.position, asked.copy_words)
            parts.append(" ".join(self._copied(words, draw)))
        return "\n".join(part for part in parts if part)

    def _phrase(self, sight: Sight, noun: str, before: int, draw: random.Random) -> str:
        found = sight.phrase(noun, before)
        if found is None:
            return f"I cannot find the {noun} phrase."
        words, place = found
        if draw.random() < self._miss_rate(place, len(sight)):
            self._counters["recall_misses"] += 1
            return f"I cannot find the {noun} phrase."
        return f"The {noun} phrase is {' '.join(self._copied(words.split(), draw))}."

    def _miss_rate(self, place: int, length: int) -> float:
        share = place / length
        rate = self._honesty.recall_miss_middle
        if share < _EDGE_SHARE:
            rate = self._honesty.recall_miss_head
        elif share > 1 - _EDGE_SHARE:
            rate = self._honesty.recall_miss_end
        scale = self._honesty.recall_scale_tokens
        return rate * min(1.0, length / scale) if scale else rate

    def _copied(self, words: list[str], draw: random.Random) -> list[str]:
        copied: list[str] = []
        for word in words:
            if draw.random() >= self._honesty.copy_error_rate:
                copied.append(word)
                continue
            self._counters["copy_errors"] += 1
            copied += _miscopied(word, words, draw)
        return copied


def _miscopied(word: str, words: list[str], draw: random.Random) -> list[str]:
    """One of: another word, none, the word twice, two letters swapped."""
    kind = draw.randrange(4)
    if kind == 0:
        return [draw.choice(words)]
    if kind == 1:
        return []
    if kind == 2:  # noqa: PLR2004 - third of four kinds
        return [word, word]
    place = draw.randrange(max(1, len(word) - 1))
    return [word[:place] + word[place + 1 : place + 2] + word[place : place + 1] + word[place + 2 :]]
