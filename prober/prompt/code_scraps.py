"""Torn line codes: single groups of four, and as much of their code as follows or precedes them in the answer."""

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.prompt.e_values import match_bits
from prober.prompt.line_code import CHARACTER_BITS, CODE_CHARACTERS, GROUP_CHARACTERS, GROUPS, folded

_RUN: Final = re.compile(rb"[0-9a-z]+")
_GROUP_VALUES: Final = 1 << CHARACTER_BITS * GROUP_CHARACTERS
_BASE: Final = 1 << CHARACTER_BITS
_PLACE_VALUES: Final = _BASE ** np.arange(GROUP_CHARACTERS - 1, -1, -1)


def _values() -> npt.NDArray[np.int64]:
    values = np.full(256, _BASE)
    values[list(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")] = np.arange(_BASE)
    return values


_VALUES: Final = _values()
"""ASCII -> value of a base32 character, 32 for any other."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Scraps:
    """Groups found in an answer."""

    characters: str
    """All letters and digits of the answer, read as base32, separators removed."""
    places: tuple[int, ...]
    """Where in `characters` a distinct group begins that holds both letters and digits."""


def scraps_of(visible: bytes, own_codes: Sequence[str]) -> Scraps:
    """Groups of an answer, own ones left out. `visible`: lower-case ASCII.

    Only groups with both a letter and a digit start a comparison: words and years do not.
    """
    first_places: dict[str, int] = {}
    length, runs = 0, _RUN.findall(visible)
    for run in runs:
        if len(run) % GROUP_CHARACTERS == 0 and not run.isalpha():
            for i in range(0, len(run), GROUP_CHARACTERS):
                piece = run[i : i + GROUP_CHARACTERS]
                if not piece.isalpha() and not piece.isdigit():
                    first_places.setdefault(folded(piece), length + i)
        length += len(run)
    if first_places:
        for code in own_codes:
            for i in range(0, CODE_CHARACTERS, GROUP_CHARACTERS):
                first_places.pop(code[i : i + GROUP_CHARACTERS], None)
    return Scraps(characters=folded(b"".join(runs)), places=tuple(first_places.values()))


def group_numbers(codes: Sequence[str]) -> npt.NDArray[np.uint32]:
    """Distinct groups of four characters, 20 bits each, ascending; those with other characters than base32 left out."""
    characters = np.frombuffer("".join(codes).encode("ascii"), np.uint8).reshape(-1, GROUP_CHARACTERS)
    values = _VALUES[characters]
    groups = values[(values < _BASE).all(axis=1)] @ _PLACE_VALUES
    return np.unique(groups.astype(np.uint32))


def groups_of(scraps: Scraps) -> list[str]:
    """Groups that start a comparison."""
    return [scraps.characters[place : place + GROUP_CHARACTERS] for place in scraps.places]


def group_chance(codes: Sequence[str]) -> float:
    """Chance that a group, whatever it is, stands in its place among so many distinct codes, for codes look random."""
    return len(codes) * GROUPS / _GROUP_VALUES


def code_bits(scraps: Scraps, codes: Sequence[str]) -> tuple[int, float]:
    """Whole groups matched and log2 e-value against the codes of one donor.

    A group stands among n distinct codes by chance 4 n / 2**20, whatever it is, for codes look random. Once it does,
    r further characters to the right and l to the left match by chance 32**-(r + l): the e-value is 32**(r + l) times
    a weight that sums to at most 1 over all outcomes. A third of it lies on the lone group, a third on whole further
    groups, a third on all outcomes alike.
    """
    if not codes or not scraps.places:
        return 0, 0.0
    joined = "".join(codes)
    trials, groups, bits, read_to = [], 0, 0.0, 0
    for place in scraps.places:
        # What an earlier match already went on into is no news.
        if place < read_to:
            continue
        at = _aligned(joined, scraps.characters[place : place + GROUP_CHARACTERS])
        trials.append(at >= 0)
        if at >= 0:
            left, right, gain = _extension(scraps.characters, place, joined, at)
            first, last = at % CODE_CHARACTERS - left, at % CODE_CHARACTERS + GROUP_CHARACTERS + right
            groups += last // GROUP_CHARACTERS - -(-first // GROUP_CHARACTERS)
            bits += gain
            read_to = place + GROUP_CHARACTERS + right
    return groups, bits + match_bits(np.array(trials), np.full(len(trials), group_chance(codes)))


def _aligned(joined: str, group: str) -> int:
    """Offset of a group among joined codes, -1 if it is none of theirs."""
    at = joined.find(group)
    while at % GROUP_CHARACTERS and at >= 0:
        at = joined.find(group, at + 1)
    return at


def _extension(characters: str, place: int, joined: str, at: int) -> tuple[int, int, float]:
    """Characters that match on to the left and to the right within one code, and their log2 e-value."""
    begin = at - at % CODE_CHARACTERS
    most_left = min(at - begin, place)
    most_right = min(begin + CODE_CHARACTERS - at, len(characters) - place) - GROUP_CHARACTERS
    left = right = 0
    while left < most_left and characters[place - left - 1] == joined[at - left - 1]:
        left += 1
    while right < most_right and characters[place + GROUP_CHARACTERS + right] == joined[at + GROUP_CHARACTERS + right]:
        right += 1
    weight = _weight(left, right, most_left, most_right)
    return left, right, CHARACTER_BITS * (left + right) + math.log2(weight)


def _weight(left: int, right: int, most_left: int, most_right: int) -> float:
    weight = 1 / ((most_left + 1) * (most_right + 1))
    if left == right == 0:
        weight += 1
    elif left % GROUP_CHARACTERS == right % GROUP_CHARACTERS == 0:
        weight += 1 / ((most_left // GROUP_CHARACTERS + 1) * (most_right // GROUP_CHARACTERS + 1) - 1)
    return weight / 3
