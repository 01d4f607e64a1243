"""Finds code-shaped places in text: sixteen base32 characters in four groups, in one piece, or after `ref`."""

import re
from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from prober.prompt.line_code import CODE_CHARACTERS, GROUP_CHARACTERS, GROUPS

_GROUP: Final = re.compile(rb"[0-9a-z]{4}")
_GROUPED: Final = re.compile(rb"[0-9a-z]{4}(?:[^0-9a-z]{1,4}[0-9a-z]{4}){3}(?![0-9a-z])")
_GROUP_BEFORE: Final = re.compile(rb"[0-9a-z]{4}[^0-9a-z]{1,4}\Z")
_GROUPS_BEFORE: Final = re.compile(rb"(?<![0-9a-z])(?:[0-9a-z]{4}[^0-9a-z]{1,4}){1,3}\Z")
_LONGEST_STEP: Final = GROUP_CHARACTERS + 4
"""Characters of one group with one to four separators after it."""
_LONGEST_BEFORE: Final = (GROUPS - 1) * _LONGEST_STEP
_REF: Final = b"ref"
_AFTER_REF: Final = re.compile(rb"ref[^0-9a-z]{0,4}((?:[0-9a-z][^0-9a-z]{0,4}){15}[0-9a-z])")
_LONGEST_AFTER_REF: Final = CODE_CHARACTERS * (1 + 4)
_SEPARATORS: Final = bytes(sorted(set(range(256)) - set(b"0123456789abcdefghijklmnopqrstuvwxyz")))
_NO_DIGITS: Final = bytes(sorted(set(range(256)) - set(b"0123456789")))
_DIGITS_WITHOUT_GROUPS: Final = 2
_DIGIT_COUNT: Final = 10
_ALNUM: Final = np.zeros(256, np.bool_)
_ALNUM[list(b"0123456789abcdefghijklmnopqrstuvwxyz")] = True

_Read = TypeVar("_Read")


def find_codes(visible: bytes, read: Callable[[bytes], _Read | None]) -> tuple[dict[int, _Read], int]:
    """Try all code-shaped places: what `read` made of them, by offset, and the number of places tried.

    Codes hold digits and prose hardly any, so that only the surroundings of digits are looked at. Four groups of four
    hold at least one digit among them; codes hold none with probability 0.25 %, and those are missed. In one piece, or
    after `ref` with any separators, a second digit is asked for; 2 % of the codes have fewer.

    Args:
        visible: Lower-case ASCII.
        read: Given sixteen letters and digits, separators removed; None when they are no code.
    """
    trials = _Trials(visible, read)
    digits = _Digits(visible)
    trials.grouped(digits.pieces(GROUP_CHARACTERS))
    trials.in_one_piece(digits.pieces(CODE_CHARACTERS))
    trials.after_ref(digits.refs())
    return trials.found, len(trials.tried)


class _Trials(Generic[_Read]):
    """Reads what has a code's shape, and remembers where."""

    def __init__(self, visible: bytes, read: Callable[[bytes], _Read | None]) -> None:
        self._visible = visible
        self._read = read
        self.found: dict[int, _Read] = {}
        self.tried: set[int] = set()

    def grouped(self, numeric_groups: Iterable[int]) -> None:
        """Four groups of four, around each group with a digit."""
        read_to = 0
        for numeric in numeric_groups:
            # A code's groups also pair up with the words around them: once it is read they need no trial of their own.
            if numeric >= read_to:
                starts = _groups_up_to(self._visible, numeric)
                read_to = next(filter(None, map(self._four_groups, starts)), 0)

    def _four_groups(self, start: int) -> int:
        """End of the code that begins there; 0 where none does."""
        match = _GROUPED.match(self._visible, start)
        if match is None or start in self.tried or not self._attempt(start, match[0].translate(None, _SEPARATORS)):
            return 0
        return match.end()

    def in_one_piece(self, pieces: Iterable[int]) -> None:
        """Sixteen letters and digits."""
        for start in pieces:
            characters = self._visible[start : start + CODE_CHARACTERS]
            if _has_digits(characters):
                self._attempt(start, characters)

    def after_ref(self, refs: Iterable[int]) -> None:
        """Sixteen letters and digits with any separators."""
        for place in refs:
            beyond = place + len(_REF)
            if self.tried.isdisjoint(range(beyond, beyond + 5)):
                match = _AFTER_REF.match(self._visible, place)
                if match and _has_digits(characters := match[1].translate(None, _SEPARATORS)):
                    self._attempt(match.start(1), characters)

    def _attempt(self, start: int, characters: bytes) -> bool:
        self.tried.add(start)
        decoded = self._read(characters)
        if decoded is not None:
            self.found[start] = decoded
        return decoded is not None


def _groups_up_to(visible: bytes, numeric: int) -> list[int]:
    """Offsets of the group at `numeric` and of those, three at most, that stand close before it; ascending."""
    # Most have none, and the nearest one tells.
    if not _GROUP_BEFORE.search(visible, max(0, numeric - _LONGEST_STEP), numeric):
        return [numeric]
    before = _GROUPS_BEFORE.search(visible, max(0, numeric - _LONGEST_BEFORE), numeric)
    if before is None:
        return [numeric]
    return [*(before.start() + group.start() for group in _GROUP.finditer(before[0])), numeric]


def _has_digits(characters: bytes) -> bool:
    return len(characters.translate(None, _NO_DIGITS)) >= _DIGITS_WITHOUT_GROUPS


class _Digits:
    """Where the digits of a text stand."""

    def __init__(self, visible: bytes) -> None:
        self._characters = np.frombuffer(visible, np.uint8)
        # Unsigned differences wrap round: what stands before the first digit becomes large.
        self._places = np.flatnonzero(self._characters - np.uint8(ord("0")) < _DIGIT_COUNT)
        # One digit tells of its piece: the first of each number.
        self._leading = self._places[np.diff(self._places, prepend=-2) > 1]
        self._before, self._after = self._run(-1), self._run(1)

    def pieces(self, length: int) -> list[int]:
        """Offsets, ascending, of pieces of exactly so many letters and digits, up to 16, with a digit among them."""
        starts = (self._leading - self._before)[self._before + self._after == length - 1]
        # Numbers of one piece stand next to each other, and pieces in order.
        once: list[int] = starts[np.diff(starts, prepend=-1) > 0].tolist()
        return once

    def refs(self) -> list[int]:
        """Offsets of `ref` with enough digits after it for a code; prose is full of it, but for the digits."""
        text = self._characters
        here = [text[at : len(text) - len(_REF) + 1 + at] == letter for at, letter in enumerate(_REF)]
        places = np.flatnonzero(here[0] & here[1] & here[2])
        first = places + len(_REF)
        digits = np.searchsorted(self._places, first + _LONGEST_AFTER_REF) - np.searchsorted(self._places, first)
        near: list[int] = places[digits >= _DIGITS_WITHOUT_GROUPS].tolist()
        return near

    def _run(self, direction: int) -> npt.NDArray[np.int64]:
        """Letters and digits in a row beside each leading digit, counted to a code's length."""
        count = np.zeros(len(self._leading), np.int64)
        alive = np.arange(len(self._leading))
        for step in range(1, CODE_CHARACTERS + 1):
            beside = self._leading[alive] + direction * step
            is_inside = (beside >= 0) & (beside < len(self._characters))
            alive, beside = alive[is_inside], beside[is_inside]
            alive = alive[_ALNUM[self._characters[beside]]]
            count[alive] += 1
        return count
