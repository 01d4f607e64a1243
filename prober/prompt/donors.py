"""What a live prompt leaves to recognise when an answer holds mere scraps of it: word pairs, line codes, its slice."""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import Canary
from prober.domain.prompt import Prompt
from prober.domain.target import TextForm
from prober.prompt.alphabet import INDEX, SYMBOLS, WORD_LETTERS
from prober.prompt.normalised import visible_ascii

PAIRS: Final = SYMBOLS * SYMBOLS
_NO_PAIRS: Final = np.empty(0, np.uint32)
_SPARSE_LIMIT: Final = PAIRS // 32
"""Below so many pairs a sorted array is smaller than one bit for each of the 4,194,304."""
_HIGHEST_BIT: Final = np.uint8(128)
_LETTERS: Final = 26
_REF: Final = re.compile(r"\[ref ((?:[0-9A-Z]{4}-){3}[0-9A-Z]{4})\]")
_PIECE: Final = 1 << 18


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairSet:
    """Set of adjacent word pairs; at most 512 KiB."""

    count: int
    sorted_pairs: npt.NDArray[np.uint32]
    bits: npt.NDArray[np.uint8] | None
    """One bit per pair, eight to a byte, where sorted numbers would need more."""

    @classmethod
    def of(cls, parts: Iterable[npt.NDArray[np.uint32]]) -> "PairSet":
        """From pair numbers in any number of parts, repeats allowed."""
        few = [_NO_PAIRS]
        bits: npt.NDArray[np.uint8] | None = None
        for part in parts:
            few.append(part)
            if bits is None and sum(map(len, few)) >= _SPARSE_LIMIT:
                bits = np.zeros(PAIRS // 8, np.uint8)
            if bits is not None:
                pairs = np.concatenate(few)
                np.bitwise_or.at(bits, pairs >> 3, _HIGHEST_BIT >> (pairs & 7).astype(np.uint8))
                few.clear()
        if bits is None:
            distinct = np.unique(np.concatenate(few))
            return cls(count=len(distinct), sorted_pairs=distinct, bits=None)
        return cls(count=int(np.bitwise_count(bits).sum()), sorted_pairs=_NO_PAIRS, bits=bits)

    def contains(self, pairs: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Which of the pairs are in the set."""
        if self.bits is not None:
            bit: npt.NDArray[np.uint8] = self.bits[pairs >> 3] >> (7 - (pairs & 7)).astype(np.uint8) & 1
            return bit.astype(np.bool_)
        if not self.count:
            return np.zeros(len(pairs), np.bool_)
        places = np.minimum(np.searchsorted(self.sorted_pairs, pairs), self.count - 1)
        found: npt.NDArray[np.bool_] = self.sorted_pairs[places] == pairs
        return found


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Donor:
    """Fragments of one prompt."""

    canary: Canary
    form: TextForm
    pairs: PairSet
    words: npt.NDArray[np.bool_]
    """Which alphabet words stand in it; shape (2048,)."""
    codes: tuple[str, ...]
    """Distinct line codes in it."""

    @classmethod
    def of(cls, prompt: Prompt, form: TextForm) -> "Donor":
        """Take a prompt's text apart."""
        present = np.zeros(SYMBOLS, np.bool_)
        pairs = PairSet.of(_pairs_by_piece(prompt.text, present))
        return cls(
            canary=prompt.canary,
            form=form,
            pairs=pairs,
            words=present,
            codes=tuple(dict.fromkeys(code.replace("-", "") for code in _REF.findall(prompt.text))),
        )


def _pairs_by_piece(text: str, present: npt.NDArray[np.bool_]) -> Iterator[npt.NDArray[np.uint32]]:
    """Pairs of a prompt, cut where lines end; notes in `present` which words stand in it.

    Copies of a whole text of megabytes would outweigh the text itself.
    """
    last = np.empty(0, np.int16)
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PIECE) + 1 or len(text)
        words = np.concatenate((last, alphabet_words(visible_ascii(text[start:end]))))
        present[words[words >= 0]] = True
        yield pairs_of(words)
        last, start = words[-1:], end


def pairs_of(words: npt.NDArray[np.int16]) -> npt.NDArray[np.uint32]:
    """Numbers of adjacent alphabet words (first * 2048 + second), in text order, repeats included."""
    both = (words[:-1] >= 0) & (words[1:] >= 0)
    pairs: npt.NDArray[np.uint32] = words[:-1][both].astype(np.uint32)
    pairs *= np.uint32(SYMBOLS)
    pairs += words[1:][both].view(np.uint16)
    return pairs


def alphabet_words(visible: bytes) -> npt.NDArray[np.int16]:
    """Word numbers of a text in order, -1 for anything else; shape (words,).

    A run of letters is one word; but one that falls into alphabet words of four letters counts as these, so that
    text without separators is read too.

    Args:
        visible: Lower-case ASCII.
    """
    parts = [np.empty(0, np.int16)]
    start = 0
    while start < len(visible):
        end = start + _PIECE
        while end < len(visible) and visible[end : end + 1].isalpha():
            end += 1
        parts.append(_words(np.frombuffer(visible, np.uint8, min(end, len(visible)) - start, start)))
        start = end
    return np.concatenate(parts)


def _words(characters: npt.NDArray[np.uint8]) -> npt.NDArray[np.int16]:
    letters = characters - np.uint8(ord("a"))
    inside = np.zeros(len(letters) + 2, np.bool_)
    np.less(letters, _LETTERS, out=inside[1:-1])
    starts = np.flatnonzero(inside[1:-1] & ~inside[:-2])
    lengths = np.flatnonzero(inside[1:-1] & ~inside[2:]) + 1 - starts
    words = np.full(len(starts), -1, np.int16)
    single = lengths == WORD_LETTERS
    words[single] = _lookup(letters, starts[single])
    several = np.flatnonzero((lengths > WORD_LETTERS) & (lengths % WORD_LETTERS == 0))
    return _with_joined_words(letters, words, several, starts[several], lengths[several])


def _lookup(letters: npt.NDArray[np.uint8], offsets: npt.NDArray[np.intp]) -> npt.NDArray[np.int16]:
    number = letters[offsets].astype(np.intp)
    for letter in range(1, WORD_LETTERS):
        number *= 26
        number += letters[offsets + letter]
    return INDEX.take(number)


def _with_joined_words(
    letters: npt.NDArray[np.uint8],
    words: npt.NDArray[np.int16],
    runs: npt.NDArray[np.intp],
    starts: npt.NDArray[np.intp],
    lengths: npt.NDArray[np.intp],
) -> npt.NDArray[np.int16]:
    """Put the words of runs that fall wholly into alphabet words where the run stood."""
    parts, done = [], 0
    for run, start, length in zip(runs.tolist(), starts.tolist(), lengths.tolist(), strict=True):
        inner = _lookup(letters, np.arange(start, start + length, WORD_LETTERS))
        if inner.min() >= 0:
            parts += [words[done:run], inner]
            done = run + 1
    return np.concatenate([*parts, words[done:]])
