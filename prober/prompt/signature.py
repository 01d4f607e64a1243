"""Signature of an answer, by which nearly equal ones of different requests are told without keeping a word of them.

MinHash (Broder 1997, "On the resemblance and containment of documents"): of each of 64 fixed hash functions the least
value over all three-word shingles. The share of equal values estimates the Jaccard similarity of two answers' shingles
with a standard error of sqrt(j * (1 - j) / 64), at most 0.0625. Functions are the same everywhere and for ever, so that
answers of different runs and instances compare.
"""

import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

VALUES: Final = 64
SHINGLE_WORDS: Final = 3
LEAST_WORDS: Final = 8
"""Below so many words an answer has too few shingles to tell anything."""

_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)
"""Multipliers of SplitMix64 (Steele, Lea & Flood 2014)."""
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
"""2**64 / golden ratio, its increment."""
_SHIFTS: Final = tuple(map(np.uint64, (30, 27, 31)))
_KEPT: Final = np.uint64(32)
"""Upper bits are the best ones of a product, and enough."""
_SHINGLES_AT_ONCE: Final = 4096


def signature(words: Sequence[str]) -> tuple[int, ...]:
    """64 values of 32 bits; empty below 8 words. Takes O(words)."""
    if len(words) < LEAST_WORDS:
        return ()
    # CRC-32 for its speed: two words that it mistakes for each other make shingles of two answers alike, no more.
    hashes = np.array([zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in words], np.uint64)
    shingles = _mixed(_mixed(_mixed(hashes[:-2]) + hashes[1:-1]) + hashes[2:])
    least = np.full(VALUES, np.iinfo(np.uint64).max)
    for start in range(0, len(shingles), _SHINGLES_AT_ONCE):
        drawn = shingles[start : start + _SHINGLES_AT_ONCE] * _FACTORS
        drawn += _OFFSETS
        np.minimum(least, drawn.min(axis=1), out=least)
    return tuple((least >> _KEPT).tolist())


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser: every bit of a number moves every bit of what comes out."""
    first, second, third = _SHIFTS
    mixed = (numbers ^ numbers >> first) * _FIRST
    mixed = (mixed ^ mixed >> second) * _SECOND
    return mixed ^ mixed >> third


_DRAWN: Final = _mixed(_STEP * np.arange(1, 2 * VALUES + 1, dtype=np.uint64)).reshape(2, VALUES, 1)
_FACTORS: Final = _DRAWN[0] | np.uint64(1)
_OFFSETS: Final = _DRAWN[1]
"""Function i is factor * x + offset modulo 2**64 (Dietzfelbinger et al. 1997); shape (64, 1)."""
