"""Finds code-shaped places in text: sixteen base32 characters in four groups, in one piece, or after `ref`."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from prober.prompt.line_code import CODE_CHARACTERS, GROUP_CHARACTERS, GROUPS

_MOST_SEPARATORS: Final = 4
_REF: Final = b"ref"
_AFTER_REF: Final = re.compile(rb"ref[^0-9a-z]{0,4}((?:[0-9a-z][^0-9a-z]{0,4}){15}[0-9a-z])")
_LONGEST_AFTER_REF: Final = CODE_CHARACTERS * (1 + _MOST_SEPARATORS)
_FAR: Final = 512
"""Characters that one search goes through faster than a second search starts."""
_SEPARATORS: Final = bytes(sorted(set(range(256)) - set(b"0123456789abcdefghijklmnopqrstuvwxyz")))
_NO_DIGITS: Final = bytes(sorted(set(range(256)) - set(b"0123456789")))
_DIGITS_WITHOUT_GROUPS: Final = 2
_DIGIT_COUNT: Final = 10
_STRETCH: Final = 1 << 18
"""Characters looked at together, so that intermediate arrays stay in a core's own cache."""
_GROUPS_AT_ONCE: Final = 1 << 14
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
    trials.grouped(digits.rows())
    trials.in_one_piece(digits.pieces())
    trials.after_ref(digits.refs())
    return trials.found, len(trials.tried)


class _Trials(Generic[_Read]):
    """Reads what has a code's shape, and remembers where."""

    def __init__(self, visible: bytes, read: Callable[[bytes], _Read | None]) -> None:
        self._visible = visible
        self._read = read
        self.found: dict[int, _Read] = {}
        self.tried: set[int] = set()

    def grouped(self, rows: Iterable[tuple[int, int, int]]) -> None:
        """Four groups of four; each comes after the offset of a group in it that holds a digit."""
        read_to = 0
        for numeric, start, end in rows:
            # A code's groups also pair up with the words around them: once it is read they need no trial of their own.
            if numeric < read_to or start in self.tried:
                continue
            if self._attempt(start, self._visible[start:end].translate(None, _SEPARATORS)):
                read_to = end

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


def _has_digits(characters: bytes) -> bool:
    return len(characters.translate(None, _NO_DIGITS)) >= _DIGITS_WITHOUT_GROUPS


class _Digits:
    """Where the digits of a text stand."""

    def __init__(self, visible: bytes) -> None:
        self._visible = visible
        self._characters = np.frombuffer(visible, np.uint8)
        self._places = _digit_places(self._characters)
        # One digit tells of its piece: the first of each number.
        self._leading = self._places[np.diff(self._places, prepend=-2) > 1]
        self._before, self._after = self._run(-1), self._run(1)

    def rows(self) -> Iterable[tuple[int, int, int]]:
        """Start and end of each four groups of four in a row, after the offset of a group in it that holds a digit.

        In order of that group, then of start. Groups are one to four separators apart.
        """
        places = self._pieces(GROUP_CHARACTERS)
        parts = (places[first : first + _GROUPS_AT_ONCE] for first in range(0, len(places), _GROUPS_AT_ONCE))
        return itertools.chain.from_iterable(map(self._rows_around, parts))

    def pieces(self) -> list[int]:
        """Offsets, ascending, of pieces of exactly a code's length, with a digit among them."""
        whole: list[int] = self._pieces(CODE_CHARACTERS).tolist()
        return whole

    def refs(self) -> list[int]:
        """Offsets of `ref` with enough digits after it for a code; prose is full of it, but for the digits."""
        places = np.array(list(self._refs_near_digits()), np.int64)
        first = places + len(_REF)
        digits = np.searchsorted(self._places, first + _LONGEST_AFTER_REF) - np.searchsorted(self._places, first)
        near: list[int] = places[digits >= _DIGITS_WITHOUT_GROUPS].tolist()
        return near

    def _refs_near_digits(self) -> Iterator[int]:
        """Those near digits that have another one near: most of a text needs no search."""
        digits = self._places[:-1][np.diff(self._places) < _LONGEST_AFTER_REF]
        apart = np.diff(digits) > _FAR
        begins = np.concatenate((digits[:1], digits[1:][apart])) - len(_REF) - _LONGEST_AFTER_REF
        ends = np.concatenate((digits[:-1][apart], digits[-1:]))
        for begin, end in zip(np.maximum(begins, 0).tolist(), ends.tolist(), strict=True):
            place = begin - len(_REF)
            for text_before in self._visible[begin:end].split(_REF)[:-1]:
                place += len(_REF) + len(text_before)
                yield place

    def _pieces(self, length: int) -> npt.NDArray[np.int64]:
        """Pieces of exactly so many letters and digits, up to 16, with a digit among them."""
        starts: npt.NDArray[np.int64] = (self._leading - self._before)[self._before + self._after == length - 1]
        # Numbers of one piece stand next to each other, and pieces in order.
        is_first: npt.NDArray[np.bool_] = np.diff(starts, prepend=-1) > 0
        return starts[is_first]

    def _rows_around(self, places: npt.NDArray[np.int64]) -> Iterable[tuple[int, int, int]]:
        # In each line of this array: the three groups before one with a digit, that one, three after it; -1 for none.
        groups = np.full((len(places), 2 * GROUPS - 1), -1)
        groups[:, GROUPS - 1] = places
        self._enter_neighbours(groups, places, -1)
        self._enter_neighbours(groups, places, 1)
        which, first = np.nonzero((groups[:, :GROUPS] >= 0) & (groups[:, GROUPS - 1 :] >= 0))
        ends = groups[which, first + GROUPS - 1] + GROUP_CHARACTERS
        return zip(places[which].tolist(), groups[which, first].tolist(), ends.tolist(), strict=True)

    def _enter_neighbours(self, groups: npt.NDArray[np.int64], places: npt.NDArray[np.int64], direction: int) -> None:
        """Go from group to group while the next one is near; enter where each begins."""
        alive = np.arange(len(places))
        edge = -1 if direction < 0 else GROUP_CHARACTERS
        for column in range(1, GROUPS):
            beside = places + (edge + direction * np.arange(len(_SHAPE)))[:, np.newaxis]
            shapes: npt.NDArray[np.uint16] = np.bitwise_or.reduce(self._is_alnum(beside) << _SHAPE[:, np.newaxis])
            steps = _STEP_OF_SHAPE.take(shapes)
            hits = np.flatnonzero(steps)
            if not len(hits):
                break
            alive, places = alive[hits], places[hits] + direction * steps[hits]
            groups[alive, GROUPS - 1 + direction * column] = places

    def _run(self, direction: int) -> npt.NDArray[np.int64]:
        """Letters and digits in a row beside each leading digit, counted to a code's length."""
        count = np.zeros(len(self._leading), np.int64)
        alive, places = np.arange(len(self._leading)), self._leading
        for _ in range(CODE_CHARACTERS):
            places = places + direction
            hits = np.flatnonzero(self._is_alnum(places))
            if not len(hits):
                break
            alive, places = alive[hits], places[hits]
            count[alive] += 1
        return count

    def _is_alnum(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether letters or digits stand there; beyond the text's ends stand none."""
        is_alnum = _ALNUM.take(self._characters.take(places, mode="clip"))
        # Seen as unsigned, places before the text are large too.
        is_alnum &= places.view(np.uint64) < len(self._characters)
        return is_alnum


_SHAPE: Final = np.arange(_MOST_SEPARATORS + GROUP_CHARACTERS + 1, dtype=np.uint16)
"""Characters beside a group that tell whether another one follows: separators, the group, and what ends it."""


def _step_of_shape() -> npt.NDArray[np.int64]:
    shapes = np.arange(1 << len(_SHAPE))
    steps = np.zeros(len(shapes), np.int64)
    for separators in range(1, _MOST_SEPARATORS + 1):
        step = separators + GROUP_CHARACTERS
        # So many zeros, four ones, a zero; whatever stands beyond.
        steps[shapes & (2 << step) - 1 == (1 << step) - (1 << separators)] = step
    return steps


_STEP_OF_SHAPE: Final = _step_of_shape()
"""By which of these are letters or digits: characters from one group's start to the other's, 0 if there is none."""


def _digit_places(characters: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    places = [np.empty(0, np.int64)]
    for first in range(0, len(characters), _STRETCH):
        # Unsigned differences wrap round: what stands before the first digit becomes large.
        digits = np.flatnonzero(characters[first : first + _STRETCH] - np.uint8(ord("0")) < _DIGIT_COUNT)
        places.append(digits + first)
    return np.concatenate(places)
