"""Phrases of live probes' needles: the only words of a short prompt that an answer is asked to repeat.

A phrase is drawn by key, 11 bits a word, independent of any answer. An answer with `places` stretches of three alphabet
words in a row holds one given phrase of n words with a chance of at most places * 2**-11n, and any of the `held` ones
with at most held * places * 2**-11n; m phrases of one probe, of N words together, with at most
held * places**m * 2**-11N. log2 of the inverse is the evidence (`evidence_bits`): with the 30,000 phrases of 10,000
live probes and 30 places, one of three words tells 13 bits, two of them 41, and one of six words 46.
"""

import collections
import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import Canary
from prober.domain.prompt import Needle
from prober.prompt.alphabet import INDEX, SYMBOL_BITS, SYMBOLS, WORD_LETTERS, WORDS

_OPENING_WORDS: Final = 3
"""Words by which a phrase is looked up: none is shorter."""
_OPENING_LETTERS: Final = _OPENING_WORDS * WORD_LETTERS
_PIECE: Final = 1 << 16
"""Letters looked at together."""
_NUMBERS: Final = {word: number for number, word in enumerate(WORDS)}


@dataclasses.dataclass(slots=True)
class PhraseFinds:
    """Phrases of live probes in a text."""

    places: int = 0
    """Stretches of three alphabet words in a row, at any of four alignments."""
    by_canary: dict[Canary, set[bytes]] = dataclasses.field(default_factory=dict)
    """Letters of the phrases found, whole ones only."""


class PhraseIndex:
    """Phrases of live probes by their first three words."""

    def __init__(self) -> None:
        self._phrases: dict[Canary, tuple[bytes, ...]] = {}
        self._by_opening: dict[int, list[tuple[Canary, bytes]]] = collections.defaultdict(list)
        self.held = 0
        """Phrases held, of all probes."""
        self.word_uses: npt.NDArray[np.int32] = np.zeros(SYMBOLS, np.int32)
        """How often each alphabet word stands in a held phrase; shape (2048,)."""

    def remember(self, canary: Canary, needles: Sequence[Needle]) -> None:
        """Hold a probe's phrases, instead of any held before."""
        self.forget(canary)
        phrases = tuple("".join(needle.phrase).encode("ascii") for needle in needles)
        for phrase in phrases:
            self._by_opening[_opening(phrase)].append((canary, phrase))
        self._phrases[canary] = phrases
        self._count(phrases, 1)

    def forget(self, canary: Canary) -> None:
        """Let go of a probe's phrases, if any are held."""
        phrases = self._phrases.pop(canary, ())
        for phrase in phrases:
            self._by_opening[_opening(phrase)].remove((canary, phrase))
            if not self._by_opening[_opening(phrase)]:
                del self._by_opening[_opening(phrase)]
        self._count(phrases, -1)

    def find(self, letters: bytes) -> PhraseFinds:
        """Phrases that stand in a text whole, whatever stood between its letters; none where two probes share one.

        Args:
            letters: a-z only.
        """
        finds = PhraseFinds()
        for start, opening in self._openings(letters, finds):
            owners = [
                (canary, phrase)
                for canary, phrase in self._by_opening.get(opening, ())
                if letters.startswith(phrase, start)
            ]
            if len({canary for canary, _ in owners}) == 1:
                for canary, phrase in owners:
                    finds.by_canary.setdefault(canary, set()).add(phrase)
        return finds

    def evidence_bits(self, phrases: Iterable[bytes], places: int) -> float:
        """log2 of 1 / (bound of the chance that phrases of one probe stand in a text with so many places)."""
        words = [len(phrase) // WORD_LETTERS for phrase in phrases]
        return SYMBOL_BITS * sum(words) - math.log2(max(1, self.held)) - len(words) * math.log2(max(1, places))

    def _openings(self, letters: bytes, finds: PhraseFinds) -> Iterator[tuple[int, int]]:
        """Where three alphabet words in a row begin, and which; counts them."""
        for start in range(0, len(letters), _PIECE):
            places, openings = _stretches(letters[start : start + _PIECE + _OPENING_LETTERS - 1])
            finds.places += len(places)
            if self._phrases:
                yield from zip((places + start).tolist(), openings.tolist(), strict=True)

    def _count(self, phrases: Iterable[bytes], times: int) -> None:
        for phrase in phrases:
            self.held += times
            for word in _words(phrase):
                self.word_uses[_NUMBERS[word]] += times


def _words(phrase: bytes) -> list[str]:
    text = phrase.decode("ascii")
    return [text[start : start + WORD_LETTERS] for start in range(0, len(text), WORD_LETTERS)]


def _opening(phrase: bytes) -> int:
    first, second, third = (_NUMBERS[word] for word in _words(phrase)[:_OPENING_WORDS])
    return (first << SYMBOL_BITS | second) << SYMBOL_BITS | third


def _stretches(letters: bytes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
    """Offsets where three alphabet words in a row begin, and the three as one number."""
    values = np.frombuffer(letters, np.uint8).astype(np.int32) - ord("a")
    if len(values) < _OPENING_LETTERS:
        return np.empty(0, np.intp), np.empty(0, np.int64)
    pairs = values[:-1] * 26 + values[1:]
    words = INDEX.take(pairs[:-2] * 26**2 + pairs[2:])
    first, second, third = words[:-8], words[4:-4], words[8:]
    places = np.flatnonzero((first | second | third) >= 0)
    numbers = [part[places].astype(np.int64) for part in (first, second, third)]
    return places, (numbers[0] << SYMBOL_BITS | numbers[1]) << SYMBOL_BITS | numbers[2]
