"""The simulated LLM: sees token ids only, and follows the last request it can see.

When its own question is not in view it follows whatever request stands latest in what it does see; when there is none
it continues the text; on cleared memory it degenerates. That is all it takes for a wrong page table to become a
fluent answer about somebody else's prompt.
"""

import collections
import dataclasses
import random

import numpy as np

from prober.lab import phrasing
from prober.lab.phrasing import Manner
from prober.lab.settings import Honesty
from prober.lab.sight import Lexicon, Request, Sight
from prober.lab.tokenizer import FIRST_ORDINARY, PADDING, Ids, Tokenizer

SEED_STRIDE = 1_000_003
"""Between the draws of one cluster and those of the next: more than any cluster has requests."""
_NOTHING: Ids = np.zeros(0, dtype=np.int32)
_CONTINUATION_TOKENS = 512
_OVERTHINKING_TOKENS = 8_192
"""More than an ordinary budget."""
_LOOPED_TOKENS = (3, 9)
"""Least and most tokens of what a looping answer repeats."""
_REFUSAL = "I'm sorry, but I can't help with that request."
_REASONING = "The user wants me to answer from the text above so I look for the part that was asked for first"
_NOTHING_THERE = "There is nothing to copy."
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
    """Plans answers. The same view, temperature and seed give the same plan on every role of a cluster (of one seed).

    `counters` tells how often each imperfection fired: refusals, shuffles, recall_misses, copy_errors, paraphrases,
    looping_answers, reasoned_answers, overthinking, batch_variations.
    """

    def __init__(
        self, tokenizer: Tokenizer, honesty: Honesty, counters: collections.Counter[str], *, seed: int = 0
    ) -> None:
        self.tokenizer = tokenizer
        self._lexicon = Lexicon(tokenizer)
        self._honesty = honesty
        self._counters = counters
        self._seed = seed * SEED_STRIDE
        reasoning = (_REASONING.split() * (1 + honesty.reasoning_words // 20))[: honesty.reasoning_words]
        self._reasoning = tokenizer.encode(" ".join(reasoning))
        self._overthinking = np.resize(tokenizer.encode(" " + _REASONING), _OVERTHINKING_TOKENS).astype(np.int32)

    def plan(
        self, ids: Ids, temperature: float, seed: int, *, has_company: bool = False, beyond: Ids = _NOTHING
    ) -> Plan:
        """Answer what these ids ask for.

        `has_company`: other answers are decoded in the same batch, which on real servers changes how sums are rounded.
        `beyond`: what attention reaches behind the prompt's end. The LLM answers from its prompt, and when the answer
        is said it goes on with the text that follows there.
        """
        seed += self._seed
        reasoning = self._reasoning
        self._counters["reasoned_answers"] += reasoning.size > 0
        if self._fires("overthinking", self._honesty.overthinking_rate, seed):
            reasoning = self._overthinking
        manner = Manner.PLAIN
        if self._fires("paraphrases", self._honesty.paraphrase_rate, seed):
            manner = Manner.PARAPHRASED
        elif has_company and self._fires("batch_variations", self._honesty.batch_variation_rate, seed):
            manner = Manner.VARIED
        draw = random.Random(seed)  # noqa: S311 - simulation, no secret
        content = self._content(ids, temperature, draw, manner)
        if self._fires("looping_answers", self._honesty.looping_rate, seed):
            looped = content[-draw.randint(*_LOOPED_TOKENS) :]
            content = np.concatenate([content, np.resize(looped, _CONTINUATION_TOKENS).astype(np.int32)])
        return Plan(reasoning=reasoning, content=np.concatenate([content, beyond[beyond >= FIRST_ORDINARY]]))

    def carry_on(self, ids: Ids) -> Plan:
        """Go on with a text, whatever it asks for: what recurrent layers do with a state that outweighs the prompt."""
        content = Sight(ids, self._lexicon).continuation(_CONTINUATION_TOKENS)
        return Plan(reasoning=ids[:0], content=content)

    def _fires(self, counter: str, rate: float, seed: int) -> bool:
        """Draw for a failing of whole answers, apart from all other draws; both roles draw alike."""
        is_hit = rate > 0 and random.Random(f"{counter} {seed}").random() < rate  # noqa: S311 - simulation, no secret
        self._counters[counter] += is_hit
        return is_hit

    def _content(self, ids: Ids, temperature: float, draw: random.Random, manner: Manner) -> Ids:
        sight = Sight(ids, self._lexicon)
        request = sight.last_request()
        if request is None:
            continued = sight.continuation(_CONTINUATION_TOKENS)
            is_degenerate = sight.is_blank or not continued.size
            return np.full(_CONTINUATION_TOKENS, PADDING, dtype=np.int32) if is_degenerate else continued
        if draw.random() < self._honesty.refusal_rate:
            self._counters["refusals"] += 1
            return self.tokenizer.encode(_REFUSAL)
        return self.tokenizer.encode(self._answer(sight, request, temperature, draw, manner))

    def _answer(self, sight: Sight, request: Request, temperature: float, draw: random.Random, manner: Manner) -> str:
        asked = request.instruction
        phrases = [self._phrase(sight, noun, request.position, draw, manner) for noun in asked.nouns]
        if manner is Manner.VARIED:
            phrases.reverse()
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
        return "\n".join(part for part in parts if part) or _NOTHING_THERE

    def _phrase(self, sight: Sight, noun: str, before: int, draw: random.Random, manner: Manner) -> str:
        found = sight.phrase(noun, before)
        if found is None:
            return phrasing.missing(noun, manner, draw)
        words, place = found
        if draw.random() < self._miss_rate(place, len(sight)):
            self._counters["recall_misses"] += 1
            return phrasing.missing(noun, manner, draw)
        return phrasing.found(noun, " ".join(self._copied(words.split(), draw)), manner, draw)

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
