"""Text reduced to what canaries are made of: case, layout, mark-up and invisible characters vanish."""

import functools
import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

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
_STRETCH: Final = 1 << 16
"""Characters looked at together, so that intermediate arrays stay in a core's own cache."""
_ESCAPE: Final = re.compile(r"\\(?:[bfnrt]|u[0-9a-fA-F]{4})")
_NEAR: Final = 512
"""Characters that are looked at together once one needs a look: signs come in swarms."""
_LETTERS: Final = 26


def visible_ascii(text: str) -> bytes:
    """ASCII, lower case, invisible characters removed; any other character beyond ASCII becomes one `?`.

    Characters that Unicode holds compatible with letters or digits (NFKC: full width, mathematical, ligatures) are
    these. JSON's escapes count as blanks, so that their letters do not come between words; HTML's character references
    count as what they stand for.
    """
    return b"".join(_visible(stretch).data for stretch in _stretches(text))


def letters_of(visible: bytes) -> bytes:
    """Only the letters a-z of what `visible_ascii` returned."""
    text = np.frombuffer(visible, np.uint8)
    stretches = (text[first : first + _STRETCH] for first in range(0, len(text), _STRETCH))
    # Unsigned differences wrap round: what stands before `a` becomes large.
    return b"".join(stretch.compress(stretch - np.uint8(ord("a")) < _LETTERS).data for stretch in stretches)


def _stretches(text: str) -> Iterator[str]:
    """Pieces of a text that end before a blank, which no escape and no reference holds."""
    start = 0
    while start < len(text):
        end = _blank(text, start + _STRETCH)
        yield text[start:end]
        start = end


def _blank(text: str, start: int) -> int:
    """Offset of the next blank, or the end of the text."""
    place = text.find(" ", start)
    return place if place >= 0 else len(text)


def _visible(stretch: str) -> npt.NDArray[np.uint8]:
    stretch = _substituted(stretch, "\\", lambda text: _ESCAPE.sub(" ", text))
    stretch = _substituted(stretch, "&", html.unescape)
    return _lower(_undisguised(stretch))


def _substituted(text: str, sign: str, substitute: Callable[[str], str]) -> str:
    """Substitute what begins with a sign and holds no blank; looks only at what stands near a sign."""
    parts: list[str] = []
    done = 0
    at = text.find(sign)
    while at >= 0:
        end = _blank(text, at + _NEAR)
        parts += (text[done:at], substitute(text[at:end]))
        done = end
        at = text.find(sign, done)
    return "".join((*parts, text[done:])) if parts else text


def _undisguised(stretch: str) -> npt.NDArray[np.uint8]:
    """ASCII of a text, with look-alikes replaced by what they stand for, and without what cannot be seen."""
    if stretch.isascii():
        return np.frombuffer(stretch.encode("ascii"), np.uint8)
    code_points = np.array([stretch]).view(np.uint32)
    beyond = np.flatnonzero(code_points >= _ASCII)
    disguised = _disguised(code_points[beyond])
    if disguised:
        # Few distinct ones occur in one text, and replacing each is far faster than normalising all of it.
        for character in disguised:
            stretch = stretch.replace(character, _disguises()[character])
        return np.frombuffer(stretch.encode("ascii", "replace"), np.uint8)
    plain = code_points.astype(np.uint8)
    plain[beyond] = ord("?")
    return plain


def _lower(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Capitals become small; in half the time of `bytes.lower`."""
    lower = (text - np.uint8(ord("A")) < _LETTERS).view(np.uint8)
    lower *= ord("a") - ord("A")
    lower |= text
    return lower


def _disguised(code_points: npt.NDArray[np.uint32]) -> list[str]:
    """Distinct characters among these that are not what they look like, ascending."""
    found = code_points[_is_disguise().take(code_points, mode="clip")]
    return [chr(code) for code in np.unique(found).tolist()] if len(found) else []


@functools.cache
def _is_disguise() -> npt.NDArray[np.bool_]:
    """By code point; the last one stands for all beyond."""
    is_disguise = np.zeros(_PLANES + 1, np.bool_)
    is_disguise[list(map(ord, _disguises()))] = True
    return is_disguise


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
