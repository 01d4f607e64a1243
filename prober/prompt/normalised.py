"""Text reduced to what canaries are made of: case, layout, mark-up and invisible characters vanish."""

import functools
import re
import unicodedata
from typing import Final

import numpy as np

_ASCII: Final = 0x80
_PLANES: Final = 0x20000
"""Unicode beyond holds ideographs, tags and private use: nothing that looks like a letter."""
_INVISIBLE: Final = (
    *("\u00ad", "\u034f", "\u061c", "\u180e", "\ufeff"),
    *(
        chr(code)
        for first, last in ((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064))
        for code in range(first, last + 1)
    ),
)
_ESCAPE: Final = re.compile(r"\\(?:[bfnrt]|u[0-9a-fA-F]{4})")
_LETTERS: Final = bytes(range(ord("a"), ord("z") + 1))
_NO_LETTERS: Final = bytes(sorted(set(range(256)) - set(_LETTERS) - set(_LETTERS.upper())))


def visible_ascii(text: str) -> bytes:
    """ASCII, lower case, invisible characters removed; any other character beyond ASCII becomes one `?`.

    Characters that Unicode holds compatible with letters or digits (NFKC: full width, mathematical, ligatures) are
    these. JSON's escapes count as blanks, so that their letters do not come between words.
    """
    text = _ESCAPE.sub(" ", text)
    if not text.isascii():
        text = _without_disguise(text)
    return text.encode("ascii", "replace").lower()


def letters_of(visible: bytes) -> bytes:
    """Only the letters a-z of what `visible_ascii` returned."""
    return visible.translate(None, _NO_LETTERS)


def _without_disguise(text: str) -> str:
    """Replace look-alikes by what they stand for, and drop what cannot be seen.

    Few distinct ones occur in one text, and replacing each is far faster than normalising all of it.
    """
    replacements, is_disguise = _disguises()
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    codes = codes[(codes >= _ASCII) & (codes < _PLANES)]
    for code in np.unique(codes[is_disguise[codes]]).tolist():
        text = text.replace(chr(code), replacements[code])
    return text


@functools.cache
def _disguises() -> tuple[dict[int, str], "np.ndarray[tuple[int], np.dtype[np.bool_]]"]:
    """What each character that is not what it looks like stands for; and which codes are such, as a table."""
    replacements = dict.fromkeys(map(ord, _INVISIBLE), "")
    for code in range(_ASCII, _PLANES):
        # Only characters with a decomposition can change, and that look-up is much cheaper than normalising.
        if unicodedata.decomposition(chr(code)):
            plain = unicodedata.normalize("NFKC", chr(code))
            if any(part.isascii() and part.isalnum() for part in plain):
                replacements[code] = plain
    is_disguise = np.zeros(_PLANES, np.bool_)
    is_disguise[list(replacements)] = True
    return replacements, is_disguise
