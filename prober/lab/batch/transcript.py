"""From tokens to chunks."""

import random
from collections.abc import Sequence

from prober.lab.batch.rows import Said
from prober.lab.events import Chunk, TokenLogprob
from prober.lab.tokenizer import Tokenizer

_REMEMBERED_TEXTS = 1 << 16
_USUAL_LOGPROB = -0.05
"""Mean of what a confident LLM gives its own words: drawn from an exponential distribution."""


class TokenTexts:
    """Texts of single tokens, remembered."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._texts: dict[int, str] = {}

    def __getitem__(self, number: int) -> str:
        """Text of a token, the blank before it included."""
        text = self._texts.get(number)
        if text is None:
            if len(self._texts) >= _REMEMBERED_TEXTS:
                self._texts.clear()
            text = self._texts[number] = self._tokenizer.decode([number])
        return text


class Transcript:
    """Writes one answer down. The first token of each channel loses its blank."""

    def __init__(self, texts: TokenTexts, seed: int, *, wants_logprobs: bool) -> None:
        self._texts = texts
        self._begun: set[bool] = set()
        self._random = random.Random(f"logprobs {seed}") if wants_logprobs else None  # noqa: S311 - no secret

    def chunks(self, said: Sequence[Said], sampled: Sequence[Said]) -> list[Chunk]:
        """Chunks of one step: one per channel, none without text.

        `sampled` is what the row's own step gave; log probabilities are kept with it, whatever becomes of the tokens.
        """
        written: dict[bool, str] = {}
        logprobs: list[TokenLogprob] = []
        for (number, is_reasoning), (own, _) in zip(said, sampled, strict=True):
            text = self._text(number, is_reasoning=is_reasoning)
            if self._random and not is_reasoning:
                own_text = text if own == number else self._texts[own]
                logprobs.append(TokenLogprob(text=own_text, logprob=-self._random.expovariate(-1 / _USUAL_LOGPROB)))
            self._begun.add(is_reasoning)
            written[is_reasoning] = written.get(is_reasoning, "") + text
        chunks = []
        if written.get(True):
            chunks.append(Chunk(reasoning=written[True]))
        if written.get(False):
            chunks.append(Chunk(content=written[False], logprobs=tuple(logprobs)))
        return chunks

    def _text(self, number: int, *, is_reasoning: bool) -> str:
        text = self._texts[number]
        return text if is_reasoning in self._begun else text.lstrip(" ")
