"""What a live prompt leaves to recognise when an answer holds mere scraps of it: word pairs, line codes, its slice."""

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import Canary
from prober.domain.prompt import Prompt
from prober.domain.target import TextForm
from prober.prompt.alphabet import INDEX, SYMBOLS, WORD_LETTERS
from prober.prompt.keyring import Keyring
from prober.prompt.line_code import LINE_COUNTERS, codes
from prober.prompt.normalised import visible_ascii

PAIRS: Final = SYMBOLS * SYMBOLS
_SPARSE_LIMIT: Final = PAIRS // 32
"""Below so many pairs a sorted array is smaller than one bit for each of the 4,194,304."""
_PIECE: Final = 1 << 18


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairSet:
    """Set of adjacent word pairs; at most 512 KiB."""

    count: int
    sorted_pairs: npt.NDArray[np.uint32] | None
    bits: npt.NDArray[np.uint8] | None
    """One bit per pair, eight to a byte, where sorted numbers would need more."""

    @classmethod
    def of(cls, pairs: npt.NDArray[np.uint32]) -> "PairSet":
        """From pair numbers, repeats allowed."""
        if len(pairs) < _SPARSE_LIMIT:
            distinct = np.unique(pairs)
            return cls(count=len(distinct), sorted_pairs=distinct, bits=None)
        present = np.zeros(PAIRS, np.bool_)
        present[pairs] = True
        return cls(count=int(np.count_nonzero(present)), sorted_pairs=None, bits=np.packbits(present))

    def contains(self, pairs: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Which of the pairs are in the set."""
        if self.bits is not None:
            return (self.bits[pairs >> 3] >> (7 - (pairs & 7)).astype(np.uint8) & 1).astype(np.bool_)
        return np.isin(pairs, self.sorted_pairs)


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
    def of(cls, prompt: Prompt, form: TextForm, keyring: Keyring) -> "Donor":
        """Take a prompt's text apart."""
        words = alphabet_words(visible_ascii(prompt.text))
        present = np.zeros(SYMBOLS, np.bool_)
        present[words[words >= 0]] = True
        lines = prompt.text.count("[ref ") if form is TextForm.NUMBERED_LINES else 0
        return cls(
            canary=prompt.canary,
            form=form,
            pairs=PairSet.of(pairs_of(words)),
            words=present,
            codes=codes(keyring, prompt.canary)[: min(lines, LINE_COUNTERS)] if lines else (),
        )


def pairs_of(words: npt.NDArray[np.int16]) -> npt.NDArray[np.uint32]:
    """Numbers of adjacent alphabet words (first * 2048 + second), in text order, repeats included."""
    both = (words[:-1] >= 0) & (words[1:] >= 0)
    pairs: npt.NDArray[np.uint32] = words[:-1][both].astype(np.uint32) * np.uint32(SYMBOLS)
    pairs += words[1:][both].astype(np.uint32)
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
    edges = np.diff((letters < 26).astype(np.int8), prepend=0, append=0)
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    quarters, odd = np.divmod(ends - starts, WORD_LETTERS)
    pieces = np.where(odd == 0, quarters, 1)
    run = np.repeat(np.arange(len(starts)), pieces)
    within = np.arange(len(run)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    divisible = odd[run] == 0
    offsets = np.where(divisible, starts[run] + within * WORD_LETTERS, 0)
    words = np.where(divisible, INDEX[_grams(letters, offsets, divisible)], np.int16(-1))
    # A run counts as words only if all of it does: one piece that is none spoils its run.
    spoilt = np.zeros(len(starts), np.bool_)
    spoilt[run[words < 0]] = True
    words[spoilt[run]] = -1
    return words


def _grams(
    letters: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], valid: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    number = np.zeros(len(offsets), np.int64)
    for letter in range(WORD_LETTERS):
        number = number * 26 + np.where(valid, letters[np.where(valid, offsets + letter, 0)], 0)
    return number
