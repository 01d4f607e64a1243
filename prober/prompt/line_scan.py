"""Finds code-shaped places in text: sixteen base32 characters in four groups, in one piece, or after `ref`."""

import re
from collections.abc import Iterator
from typing import Final

from prober.prompt.line_code import CODE_CHARACTERS, GROUP_CHARACTERS, folded

_SHAPE: Final = bytes.maketrans(
    bytes(range(256)), bytes(ord("x") if chr(c).isascii() and chr(c).isalnum() else ord(" ") for c in range(256))
)
_GROUPED: Final = re.compile(rb" xxxx(?: {1,4}xxxx){3,}(?= )")
_GROUP: Final = re.compile(rb"xxxx")
_SOLID: Final = re.compile(rb" xxxxxxxxxxxxxxxx(?= )")
_AFTER_REF: Final = re.compile(rb"ref[^0-9a-z]{0,4}((?:[0-9a-z][^0-9a-z]{0,4}){15}[0-9a-z])")
_SEPARATORS: Final = re.compile(rb"[^0-9a-z]+")

_DIGITS_WITHOUT_GROUPS = 2
"""Without the groups' shape a second digit is asked for; 2 % of the codes have fewer."""


def grouped_codes(visible: bytes) -> Iterator[list[tuple[int, str]]]:
    """Runs of four or more groups of four characters: (offset, group) of each group. `visible`: lower-case ASCII."""
    shape = b" " + visible.translate(_SHAPE) + b" "
    for run in _GROUPED.finditer(shape):
        # The leading blank shifts the shape by one.
        places = [group.start() - 1 for group in _GROUP.finditer(shape, run.start(), run.end())]
        yield [(place, _text(visible[place : place + GROUP_CHARACTERS])) for place in places]


def may_be_code(characters: str) -> bool:
    """Holds a digit: ordinary words do not, and of the codes all but 0.25 % do."""
    return any(character.isdigit() for character in characters)


def other_codes(visible: bytes) -> Iterator[tuple[int, str]]:
    """Codes in one piece, or with any separators after `ref`: (offset of the first character, 16 characters)."""
    shape = b" " + visible.translate(_SHAPE) + b" "
    for solid in _SOLID.finditer(shape):
        yield from _with_digits(solid.start(), visible[solid.start() : solid.start() + CODE_CHARACTERS])
    for match in _AFTER_REF.finditer(visible):
        yield from _with_digits(match.start(1), _SEPARATORS.sub(b"", match[1]))


def _with_digits(offset: int, characters: bytes) -> Iterator[tuple[int, str]]:
    code = _text(characters)
    if sum(character.isdigit() for character in code) >= _DIGITS_WITHOUT_GROUPS:
        yield offset, code


def _text(characters: bytes) -> str:
    return folded(characters.decode("ascii"))
