"""From letters to data symbols: finds stretches of alphabet words at any of four alignments, fast on ordinary text."""

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.prompt.alphabet import INDEX, IS_WORD, WORD_LETTERS
from prober.prompt.stream_code import MASK

SHORTEST_RUN: Final = 7
"""Words in a row below which no tier reads anything: five data symbols and two words to synchronise."""

_CHUNK_ROWS = 8192
_ROW: Final = SHORTEST_RUN * WORD_LETTERS


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
    text = np.frombuffer(letters, np.uint8) - np.uint8(ord("a"))
    offsets = _word_offsets(text)
    words = INDEX[_grams(text, offsets)]
    chained = words[2:] - words[:-2] - table.take(words[1:-1], mode="wrap").astype(np.int16)
    known = (words[2:] | words[1:-1] | words[:-2]) >= 0
    known &= offsets[2:] - offsets[:-2] == 2 * WORD_LETTERS
    return Symbols(data=np.where(known, chained & np.int16(MASK), np.int16(-1)), offsets=offsets[:-2])


def _grams(text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Four letters from each offset on as a base-26 number."""
    number = text[offsets].astype(np.intp)
    for letter in range(1, WORD_LETTERS):
        number *= 26
        number += text[offsets + letter]
    return number


def _word_offsets(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Offsets where words of runs of seven or more words may begin, by alignment, then ascending.

    Any run of seven words has one that begins in the first four letters of a 28-letter row: looking at those alone
    is enough to find all runs, and leaves ordinary text after one look at each seventh place.
    """
    seeds = _confirmed(text, _seeds(text))
    if not len(seeds):
        return seeds
    # One row of marks per alignment; words before the text or after its end fall into the margin.
    marks = np.zeros((WORD_LETTERS, len(text) // WORD_LETTERS + 2 * SHORTEST_RUN), np.bool_)
    alignments, places = seeds % WORD_LETTERS, seeds // WORD_LETTERS + SHORTEST_RUN
    for step in range(1 - SHORTEST_RUN, SHORTEST_RUN):
        marks[alignments, places + step] = True
    alignments, places = np.nonzero(marks)
    offsets = (places - SHORTEST_RUN) * WORD_LETTERS + alignments
    return offsets[(offsets >= 0) & (offsets <= len(text) - WORD_LETTERS)]


def _seeds(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Offsets in the first four letters of 28-letter rows where an alphabet word begins."""
    padded_rows = -(-len(text) // _ROW)
    found = [np.empty(0, np.int64)]
    for first in range(0, padded_rows, _CHUNK_ROWS):
        chunk = text[first * _ROW : (first + _CHUNK_ROWS) * _ROW]
        rows = np.zeros((-(-len(chunk) // _ROW), _ROW), np.uint8)
        rows.reshape(-1)[: len(chunk)] = chunk
        column = [rows[:, i].astype(np.intp) for i in range(2 * WORD_LETTERS - 1)]
        pair = [column[i] * 26 + column[i + 1] for i in range(2 * WORD_LETTERS - 2)]
        for offset in range(WORD_LETTERS):
            hits = np.flatnonzero(IS_WORD.take(pair[offset] * 676 + pair[offset + 2]))
            found.append((hits + first) * _ROW + offset)
    places = np.concatenate(found)
    return places[places <= len(text) - WORD_LETTERS]


def _confirmed(text: npt.NDArray[np.uint8], seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Seeds whose run of words is seven or longer (or six, at the very end of a text: the margin is not empty)."""
    margin = SHORTEST_RUN * WORD_LETTERS
    padded = np.zeros(len(text) + 2 * margin, np.uint8)
    padded[margin : margin + len(text)] = text
    run = np.ones(len(seeds), np.int8)
    for direction in (-WORD_LETTERS, WORD_LETTERS):
        alive = np.arange(len(seeds))
        for step in range(1, SHORTEST_RUN):
            alive = alive[IS_WORD[_grams(padded, seeds[alive] + (margin + direction * step))]]
            run[alive] += 1
    return seeds[run >= SHORTEST_RUN]
