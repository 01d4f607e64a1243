"""Text reduced to what canaries are made of: case, layout, mark-up and invisible characters vanish."""

import re
import sys
import unicodedata
from typing import Final

_INVISIBLE: Final = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+")
_ESCAPES: Final = re.compile(r"\\(?:[bfnrt]|u[0-9a-fA-F]{4})")
_LETTERS: Final = bytes(range(ord("a"), ord("z") + 1))
_NO_LETTERS: Final = bytes(sorted(set(range(256)) - set(_LETTERS) - set(_LETTERS.upper())))


def _lookalikes() -> "re.Pattern[str]":
    """Characters outside ASCII that Unicode's compatibility form (NFKC) turns into ASCII letters or digits."""
    found = []
    for number in range(0x80, sys.maxunicode + 1):
        character = chr(number)
        # Only characters with a decomposition can change, and the look-up is much cheaper than the normalisation.
        if unicodedata.decomposition(character):
            plain = unicodedata.normalize("NFKC", character)
            if any(part.isascii() and part.isalnum() for part in plain):
                found.append(character)
    return re.compile("[" + "".join(found) + "]")


_LOOKALIKES: Final = _lookalikes()


def visible_ascii(text: str) -> bytes:
    """ASCII, lower case, invisible characters removed; any other character beyond ASCII becomes one `?`.

    JSON's escapes count as blanks, so that their letters do not come between words.
    """
    if "\\" in text:
        text = _ESCAPES.sub(" ", text)
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
        if _LOOKALIKES.search(text):
            text = unicodedata.normalize("NFKC", text)
    return text.encode("ascii", "replace").lower()


def letters_of(visible: bytes) -> bytes:
    """Only the letters a-z of what `visible_ascii` returned."""
    return visible.translate(None, _NO_LETTERS)
