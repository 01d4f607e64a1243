"""From letters to data symbols: finds stretches of alphabet words at any of four alignments, fast on ordinary text."""

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.prompt.alphabet import SYMBOLS, WORD_LETTERS, WORDS
from prober.prompt.stream_code import MASK

SHORTEST_RUN: Final = 7
"""Words in a row below which no tier reads anything: five data symbols and two words to synchronise."""

_ROW: Final = SHORTEST_RUN * WORD_LETTERS
_REACH: Final = _ROW - WORD_LETTERS
"""Letters from the first word of a shortest run to its last."""
_LETTER_BITS: Final = 8
_QUAD_BITS: Final = WORD_LETTERS * _LETTER_BITS
_GRAMS: Final = 1 << WORD_LETTERS * 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Symbols:
    """Data symbols regained from a text, in order of alignment and place; -1 where words are missing.

    `data[i]` needs the words at `offsets[i]`, `+4` and `+8` letters. A window of m symbols spans m + 2 words.
    """

    data: npt.NDArray[np.int16]
    offsets: npt.NDArray[np.int64]
    """Letter offset of the first of the symbol's three words."""

    def windows(self, length: int) -> npt.NDArray[np.int64]:
        """Indexes where `length` known symbols in a row begin, from words that follow each other without a gap."""
        known = np.concatenate(([0], np.cumsum(self.data >= 0)))
        return np.flatnonzero(known[length:] - known[:-length] == length)


def symbols_of(letters: bytes, table: npt.NDArray[np.uint16]) -> Symbols:
    """Read all stretches of seven or more alphabet words in a row. `letters`: a-z only; `table`: the mixing table."""
    quads = _quads(letters)
    offsets = _word_offsets(quads, len(letters))
    words = _NUMBERS.take(_grams_at(quads, *_places(offsets)))
    chained = words[2:] - words[:-2] - table.take(words[1:-1], mode="wrap").astype(np.int16)
    known = (words[2:] | words[1:-1] | words[:-2]) >= 0
    known &= offsets[2:] - offsets[:-2] == 2 * WORD_LETTERS
    return Symbols(data=np.where(known, chained & np.int16(MASK), np.int16(-1)), offsets=offsets[:-2])


# --- four letters as one number -------------------------------------------------------------------------------------


def _quads(letters: bytes) -> npt.NDArray[np.uint32]:
    """Letters four by four, from offset -28 on; beyond both ends the text counts as going on with `a`.

    Four letters are one number to the processor, and any four that begin elsewhere are two of these numbers shifted
    together: no letter is looked at by itself.
    """
    after = _ROW + WORD_LETTERS + -len(letters) % _ROW
    return np.frombuffer(b"".join((b"a" * _ROW, letters, b"a" * after)), "<u4")


def _packed(quads: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Four letters each as a gram of 20 bits: the low five of each letter's ASCII code, first letter lowest."""
    number = np.uint32
    pairs = quads & number(0x001F001F) | quads >> number(3) & number(0x03E003E0)
    return pairs & number(0x000003FF) | pairs >> number(6) & number(0x000FFC00)


def _between(
    first: npt.NDArray[np.uint32], second: npt.NDArray[np.uint32], skipped: npt.NDArray[np.uint32] | np.uint32
) -> npt.NDArray[np.uint32]:
    """Grams that begin so many bits, below 32, into the first of two neighbours."""
    between = first >> skipped
    # A shift by all 32 bits leaves nothing, as numpy defines it.
    between |= second << (np.uint32(_QUAD_BITS) - skipped)
    return _packed(between)


def _places(offsets: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """Which of the `_quads` each offset lies in, and how many bits of that one come before it."""
    return offsets + _ROW >> 2, ((offsets & 3) * _LETTER_BITS).astype(np.uint32)


def _grams_at(
    quads: npt.NDArray[np.uint32], places: npt.NDArray[np.int64], skipped: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    return _between(quads.take(places), quads.take(places + 1), skipped)


def _numbers() -> npt.NDArray[np.int16]:
    numbers = np.full(_GRAMS, -1, np.int16)
    numbers[_packed(np.frombuffer("".join(WORDS).encode("ascii"), "<u4"))] = np.arange(SYMBOLS)
    return numbers


_NUMBERS: Final = _numbers()
"""Gram -> word number, or -1."""
_IS_WORD: Final = _NUMBERS >= 0


# --- runs of words --------------------------------------------------------------------------------------------------


def _word_offsets(quads: npt.NDArray[np.uint32], length: int) -> npt.NDArray[np.int64]:
    """Offsets where words of runs of seven or more words may begin, by alignment, then ascending.

    Any run of seven words has one that begins in the first four letters of a 28-letter row: looking at those alone
    is enough to find all runs, and leaves ordinary text after one look at each seventh place.
    """
    seeds = _confirmed(quads, _seeds(quads, length))
    # Six words on both sides of a seed; around seeds in neighbouring rows these follow each other.
    begins = seeds[np.diff(seeds, prepend=-_ROW - 1) != _ROW] - _REACH
    ends = seeds[np.diff(seeds, append=-1) != _ROW] + _REACH
    alignments = begins & 3
    begins = np.maximum(begins, alignments)
    ends = np.minimum(ends, length - WORD_LETTERS - (length - alignments & 3))
    words = (ends - begins >> 2) + 1
    before = np.cumsum(words) - words
    offsets = np.repeat(begins - WORD_LETTERS * before, words)
    offsets += WORD_LETTERS * np.arange(len(offsets))
    return offsets


def _seeds(quads: npt.NDArray[np.uint32], length: int) -> npt.NDArray[np.int64]:
    """Offsets in the first four letters of 28-letter rows where a word beside another one begins, by alignment."""
    rows = len(quads) // SHORTEST_RUN - 2
    columns = [quads[SHORTEST_RUN + place :: SHORTEST_RUN][:rows].copy() for place in range(-1, 3)]
    found = []
    for alignment in range(WORD_LETTERS):
        skipped = np.uint32(_LETTER_BITS * alignment)
        hits = np.flatnonzero(_IS_WORD.take(_between(columns[1], columns[2], skipped)))
        nearest = [column.take(hits) for column in columns]
        has_neighbour = _IS_WORD.take(_between(nearest[0], nearest[1], skipped))
        has_neighbour |= _IS_WORD.take(_between(nearest[2], nearest[3], skipped))
        found.append(hits[np.flatnonzero(has_neighbour)] * _ROW + alignment)
    offsets = np.concatenate(found)
    return offsets[offsets <= length - WORD_LETTERS]


def _confirmed(quads: npt.NDArray[np.uint32], seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Seeds whose run of words is seven or longer (or six, at the very end of a text: the margin is not empty)."""
    beside = _words_beside(quads, seeds, 1)
    short = np.flatnonzero(beside < SHORTEST_RUN - 1)
    beside[short] += _words_beside(quads, seeds[short], -1)
    return seeds[beside >= SHORTEST_RUN - 1]


def _words_beside(quads: npt.NDArray[np.uint32], seeds: npt.NDArray[np.int64], direction: int) -> npt.NDArray[np.int8]:
    """Words in a row beside each seed, counted up to six."""
    count = np.zeros(len(seeds), np.int8)
    alive = np.arange(len(seeds))
    places, skipped = _places(seeds)
    for _ in range(SHORTEST_RUN - 1):
        places += direction
        hits = np.flatnonzero(_IS_WORD.take(_grams_at(quads, places, skipped)))
        if not len(hits):
            break
        alive, places, skipped = alive.take(hits), places.take(hits), skipped.take(hits)
        count[alive] += 1
    return count
