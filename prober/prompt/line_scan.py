"""Finds code-shaped places in text: sixteen base32 characters in four groups, in one piece, or after `ref`."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from prober.prompt.line_code import CODE_CHARACTERS, GROUP_CHARACTERS, GROUPS

_NO_DIGITS: Final = bytes(sorted(set(range(256)) - set(b"0123456789")))
_GROUPED: Final = re.compile(rb"[0-9a-z]{4}(?:[^0-9a-z]{1,4}[0-9a-z]{4}){3}(?![0-9a-z])")
_LONGEST_STEP: Final = 2 * GROUP_CHARACTERS
"""Characters from one group's start to the next: its own four, and one to four separators."""
_REF: Final = b"ref"
_AFTER_REF: Final = re.compile(rb"ref[^0-9a-z]{0,4}((?:[0-9a-z][^0-9a-z]{0,4}){15}[0-9a-z])")
_LONGEST_AFTER_REF: Final = len(_REF) + CODE_CHARACTERS * (1 + 4)
_SEPARATORS: Final = re.compile(rb"[^0-9a-z]+")
_DIGITS_WITHOUT_GROUPS: Final = 2

_LETTER_COUNT: Final = 26
_DIGIT_COUNT: Final = 10
_CHUNK: Final = 1 << 17
"""Characters looked at together, so that intermediate arrays stay in a core's own cache."""
_OVERLAP: Final = CODE_CHARACTERS + 2

_Read = TypeVar("_Read")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Outline:
    """Offsets of alphanumeric pieces of exactly four and exactly sixteen characters."""

    groups: npt.NDArray[np.int64]
    numeric: npt.NDArray[np.bool_]
    """Whether each group holds a digit."""
    solids: npt.NDArray[np.int64]


def find_codes(visible: bytes, read: Callable[[bytes], _Read | None]) -> tuple[dict[int, _Read], int]:
    """Try all code-shaped places: what `read` made of them, by offset, and the number of places tried.

    Four groups of four hold at least one digit among them: ordinary words hold none, codes hold none with probability
    0.25 %, and those are missed. In one piece, or after `ref` with any separators, a second digit is asked for; 2 % of
    the codes have fewer.

    Args:
        visible: Lower-case ASCII.
        read: Given sixteen letters and digits, separators removed; None when they are no code.
    """
    outline = _outline(visible)
    found: dict[int, _Read] = {}
    tried: set[int] = set()

    def attempt(start: int, characters: bytes) -> bool:
        tried.add(start)
        decoded = read(characters)
        if decoded is not None:
            found[start] = decoded
        return decoded is not None

    read_to = 0
    for start in _likely_groups(outline):
        # A code's groups also pair up with the words around them: once it is read they need no trial of their own.
        if start >= read_to and (match := _GROUPED.match(visible, start)):
            read_to = match.end() if attempt(start, _SEPARATORS.sub(b"", match[0])) else read_to
    for start in outline.solids.tolist():
        characters = visible[start : start + CODE_CHARACTERS]
        if _has_digits(characters):
            attempt(start, characters)
    for place in _places(visible, _REF):
        beyond = place + len(_REF)
        # Prose is full of places that fit but for the digits, and these are told sooner than the pattern.
        if _has_digits(visible[beyond : place + _LONGEST_AFTER_REF]) and tried.isdisjoint(range(beyond, beyond + 5)):
            match = _AFTER_REF.match(visible, place)
            if match and _has_digits(characters := _SEPARATORS.sub(b"", match[1])):
                attempt(match.start(1), characters)
    return found, len(tried)


def _likely_groups(outline: _Outline) -> list[int]:
    """Offsets of groups that have three near neighbours after them, with a digit among the four."""
    starts, numeric = outline.groups, outline.numeric
    if len(starts) < GROUPS:
        return []
    near = np.diff(starts) <= _LONGEST_STEP
    likely = near[:-2] & near[1:-1] & near[2:] & (numeric[:-3] | numeric[1:-2] | numeric[2:-1] | numeric[3:])
    offsets: list[int] = starts[:-3][likely].tolist()
    return offsets


def _places(visible: bytes, part: bytes) -> Iterator[int]:
    place = visible.find(part)
    while place >= 0:
        yield place
        place = visible.find(part, place + 1)


def _has_digits(characters: bytes) -> bool:
    return len(characters.translate(None, _NO_DIGITS)) >= _DIGITS_WITHOUT_GROUPS


def _outline(visible: bytes) -> _Outline:
    # A separator before the first character and several after the last spare every edge case below.
    padded = b" " + visible + b" " * _OVERLAP
    groups, numeric, solids = [], [], []
    for first in range(0, len(visible) + 1, _CHUNK):
        piece = padded[first : first + _CHUNK + _OVERLAP]
        characters = np.frombuffer(piece, np.uint8)
        # Unsigned differences wrap round: what stands before the first letter or digit becomes large.
        alnum = (characters - np.uint8(ord("a")) < _LETTER_COUNT) | (characters - np.uint8(ord("0")) < _DIGIT_COUNT)
        pairs = alnum[:-1] & alnum[1:]
        fours = pairs[:-2] & pairs[2:]
        eights = fours[:-4] & fours[4:]
        begins = ~alnum[:-1] & alnum[1:]
        width = len(piece) - _OVERLAP
        found = np.flatnonzero(begins[:width] & fours[1 : width + 1] & ~alnum[5 : width + 5])
        digit = characters - np.uint8(ord("0")) < _DIGIT_COUNT
        digit = digit[:-1] | digit[1:]
        groups.append(found + first)
        numeric.append(digit[found + 1] | digit[found + 3])
        solid = begins[:width] & eights[1 : width + 1] & eights[9 : width + 9] & ~alnum[17 : width + 17]
        solids.append(np.flatnonzero(solid) + first)
    return _Outline(groups=np.concatenate(groups), numeric=np.concatenate(numeric), solids=np.concatenate(solids))
