"""Signs of corrupted decoding in an answer: stray scripts, replacement characters, loops, doubled words."""

import itertools
import unicodedata
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.reading import Garble

_LONGEST_PIECE: Final = 32
"""Characters of a piece whose repetition is a loop."""
_LEAST_TIMES: Final = 3
_TWICE: Final = 2
LOOKED_AT: Final = 1 << 16
_COMPARED_AT_ONCE: Final = 1 << 18
_AFTER: Final = np.uint32(0xFFFFFFFF)
_BEYOND: Final = np.uint32(0xFFFFFFFE)
"""No characters: what stands behind a text equals nothing."""
_LETTERS: Final = frozenset({"Lu", "Ll", "Lt", "Lo"})
_ONE_SCRIPT: Final = dict.fromkeys(("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "BOPOMOFO"), "EAST ASIAN")
"""Scripts that one honest text mixes: Japanese is written in three of them."""
OPENING_CHARACTERS: Final = 40


def garble_of(channels: Sequence[str], words: Sequence[Sequence[str]]) -> Garble:
    """Count over an answer's channels; `words` are those of each."""
    return Garble(
        scripts=len(frozenset().union(*map(_scripts, channels))),
        replacements=sum(channel.count("\ufffd") for channel in channels),
        longest_loop=max(map(longest_loop, channels)),
        doubled_words=sum(map(_doubled, words)),
        repeated_words=sum(map(_repeated, words)),
    )


def longest_loop(text: str) -> int:
    """Characters of the longest stretch that repeats one piece of at most 32 characters, three times or more.

    Only the first 65,536 characters are looked at: far more than any answer asked for, and a peer that sends without
    end must cost little.
    """
    characters = np.frombuffer(text[:LOOKED_AT].encode("utf-32-le", "surrogatepass"), np.uint32)
    longest = 0
    step = max(1, _COMPARED_AT_ONCE // (len(characters) + 1))
    for first in range(1, min(_LONGEST_PIECE, len(characters) // _LEAST_TIMES) + 1, step):
        periods = np.arange(first, min(first + step, _LONGEST_PIECE + 1))
        # A stretch of one period is a run of characters that equal the one so much further on, and one piece more.
        stretches = _longest_equal_runs(characters, periods) + periods
        longest = max(longest, int(stretches[stretches >= _LEAST_TIMES * periods].max(initial=0)))
    return longest


def _longest_equal_runs(characters: npt.NDArray[np.uint32], periods: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Most characters in a row that equal the one so much further on, for periods that follow each other."""
    here = np.append(characters, _AFTER)
    there = np.concatenate((characters, np.full(_LONGEST_PIECE + 1, _BEYOND)))
    shifted = np.lib.stride_tricks.sliding_window_view(there, len(here))[periods[0] : periods[-1] + 1]
    # No run goes on from one row into the next: each row ends with a place that differs.
    equal = np.flatnonzero((shifted == here).ravel())
    ends = np.flatnonzero(np.diff(equal, append=-1) != 1)
    longest = np.zeros(len(periods), np.int64)
    np.maximum.at(longest, equal[ends] // len(here), np.diff(ends, prepend=-1))
    return longest


def repeats_opening(content: str) -> bool:
    """Tell whether the first 40 characters come again later, outside a loop: an answer that began anew.

    Where they come again twice at one distance, or overlap, the answer runs in a loop.
    """
    opening = content[:OPENING_CHARACTERS]
    again = content.find(opening, 1) if len(opening) == OPENING_CHARACTERS else -1
    return again >= OPENING_CHARACTERS and not content.startswith(opening, 2 * again)


def _scripts(text: str) -> frozenset[str]:
    """Non-Latin scripts that letters of a text belong to, by the first word of their Unicode names."""
    if text.isascii():
        return frozenset()
    plain = "".join(unicodedata.normalize("NFKC", character) for character in set(text))
    letters = (character for character in plain if unicodedata.category(character) in _LETTERS)
    names = {unicodedata.name(letter, "").partition(" ")[0] for letter in letters}
    return frozenset(_ONE_SCRIPT.get(name, name) for name in names if name != "LATIN")


def _doubled(words: Sequence[str]) -> int:
    """Different words that stand exactly twice in a row somewhere."""
    runs = ((word, sum(1 for _ in run)) for word, run in itertools.groupby(words))
    return len({word for word, length in runs if length == _TWICE})


def _repeated(words: Sequence[str]) -> int:
    """Words that equal the one before."""
    return sum(word == before for before, word in itertools.pairwise(words))
