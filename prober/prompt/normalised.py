"""Text reduced to what canaries are made of: case, layout, mark-up and invisible characters vanish."""

import functools
import html
import re
import unicodedata
from typing import Final

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
_ASCII_BYTES: Final = bytes(range(_ASCII))
_STRETCH: Final = 512
"""Characters looked at together for any beyond ASCII."""
_AFTER_BACKSLASH: Final = re.compile("[bfnrt]|u[0-9a-fA-F]{4}")
_LETTERS: Final = bytes(range(ord("a"), ord("z") + 1))
_NO_LETTERS: Final = bytes(sorted(set(range(256)) - set(_LETTERS) - set(_LETTERS.upper())))


def visible_ascii(text: str) -> bytes:
    """ASCII, lower case, invisible characters removed; any other character beyond ASCII becomes one `?`.

    Characters that Unicode holds compatible with letters or digits (NFKC: full width, mathematical, ligatures) are
    these. JSON's escapes count as blanks, so that their letters do not come between words; HTML's character references
    count as what they stand for.
    """
    text = _without_escapes(text)
    if "&" in text:
        text = html.unescape(text)
    if text.isascii():
        return text.encode("ascii").lower()
    return b"".join(stretch.encode("ascii", "replace") for stretch in _without_disguise(text)).lower()


def _without_escapes(text: str) -> str:
    """Put a blank for each of JSON's escapes of white space and characters."""
    first, *others = text.split("\\")
    parts = [first]
    for part in others:
        escape = _AFTER_BACKSLASH.match(part)
        parts.append(" " + part[escape.end() :] if escape else "\\" + part)
    return "".join(parts)


def letters_of(visible: bytes) -> bytes:
    """Only the letters a-z of what `visible_ascii` returned."""
    return visible.translate(None, _NO_LETTERS)


def _without_disguise(text: str) -> list[str]:
    """Replace look-alikes by what they stand for, and drop what cannot be seen; returns the text in stretches.

    Most stretches of most texts are ASCII, and telling so is far cheaper than looking at their characters. Few distinct
    others occur in one text, and replacing each is far faster than normalising all of it.
    """
    replacements = _disguises()
    stretches = [text[first : first + _STRETCH] for first in range(0, len(text), _STRETCH)]
    mixed = "".join(stretch for stretch in stretches if not stretch.isascii())
    # UTF-8 without its ASCII bytes is the text of all other characters.
    beyond = mixed.encode("utf-8", "surrogatepass").translate(None, _ASCII_BYTES).decode("utf-8", "surrogatepass")
    disguised = sorted(set(beyond) & replacements.keys())
    for character in disguised:
        text = text.replace(character, replacements[character])
    return [text] if disguised else stretches


@functools.cache
def _disguises() -> dict[str, str]:
    """What each character that is not what it looks like stands for."""
    replacements = dict.fromkeys(_INVISIBLE, "")
    for character in map(chr, range(_ASCII, _PLANES)):
        # Only characters with a decomposition can change, and that look-up is much cheaper than normalising.
        if unicodedata.decomposition(character):
            plain = unicodedata.normalize("NFKC", character)
            if any(part.isascii() and part.isalnum() for part in plain):
                replacements[character] = plain
    return replacements
