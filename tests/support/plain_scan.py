"""The decoder's readings once more, slow and plain, straight from their definitions: what the fast ones are held to."""

import functools
import html
import re
import unicodedata
from collections.abc import Callable
from typing import TypeVar

from prober.domain.canary import Canary
from prober.prompt.alphabet import WORDS
from prober.prompt.keyring import Keyring
from prober.prompt.line_code import decode, folded
from prober.prompt.stream_code import block_symbols, canary_of, mixing_table

_NUMBER = {word: number for number, word in enumerate(WORDS)}
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u180e\ufeff\u200b-\u200f\u202a-\u202e\u2060-\u2064]")
_SHORTEST_RUN = 7
_ROW = 28
_Read = TypeVar("_Read")


def plain_visible(text: str) -> bytes:
    """What `visible_ascii` returns, by one character after the other."""
    text = html.unescape(re.sub(r"\\([bfnrt]|u[0-9a-fA-F]{4})", " ", text))
    return "".join(map(_undisguised, _INVISIBLE.sub("", text))).lower().encode("ascii")


@functools.cache
def _undisguised(character: str) -> str:
    plain = unicodedata.normalize("NFKC", character)
    shown = plain if ord(character) < 0x20000 and re.search("[0-9A-Za-z]", plain) else character
    return shown.encode("ascii", "replace").decode("ascii")


def plain_letters(visible: bytes) -> bytes:
    """What `letters_of` returns."""
    return re.sub(rb"[^a-z]", b"", visible)


def plain_symbols(letters: bytes, keyring: Keyring) -> list[tuple[int, int]]:
    """Offset and data, -1 where a word is missing, of each entry of `Symbols`.

    In each row of 28 letters the words that begin in its first four letters are tried; around one that belongs to a
    run of seven (letters beyond the text counted as `a`) six words are read on both sides.
    """
    text = letters.decode("ascii")
    padded = "a" * _ROW + text + "a" * _ROW
    words = {at: _NUMBER.get(padded[at + _ROW : at + _ROW + 4], -1) for at in range(-_ROW, len(text) + _ROW - 3)}
    read: set[int] = set()
    for seed in (row + alignment for row in range(0, len(text), _ROW) for alignment in range(4)):
        if seed <= len(text) - 4 and words[seed] >= 0:
            before = next(step for step in range(_SHORTEST_RUN) if step == 6 or words[seed - 4 * step - 4] < 0)
            after = next(step for step in range(_SHORTEST_RUN) if step == 6 or words[seed + 4 * step + 4] < 0)
            if before + 1 + after >= _SHORTEST_RUN:
                read |= {at for at in range(seed - 24, seed + 25, 4) if 0 <= at <= len(text) - 4}
    offsets = sorted(read, key=lambda at: (at % 4, at))
    table = mixing_table(keyring).tolist()
    symbols = []
    for at, third in zip(offsets, offsets[2:], strict=False):
        is_known = third == at + 8 and min(words[at], words[at + 4], words[third]) >= 0
        symbols.append((at, (words[third] - words[at] - table[words[at + 4]]) % 2048 if is_known else -1))
    return symbols


def plain_decoding(
    text: str, keyring: Keyring
) -> tuple[list[tuple[Canary, str, int, int, int]], list[tuple[Canary, str, int]], int, int]:
    """What `decode` makes of a text: stretches of stream windows, line codes, and the places tried for either."""
    visible = plain_visible(text)
    letters = plain_letters(visible)
    windows = plain_stream_windows(letters, keyring)
    stretches: list[list[tuple[int, int, int]]] = []
    for at, identity, position in windows:
        if stretches and stretches[-1][-1][:2] == (at - 4, identity):
            stretches[-1].append((at, identity, position))
        elif identity >= 0:
            stretches.append([(at, identity, position)])
    stream = []
    for stretch in stretches:
        (first, identity, first_block), (last, _, last_block) = stretch[0], stretch[-1]
        stream.append(
            (canary_of(identity), letters[first : last + 44].decode("ascii"), len(stretch), first_block, last_block)
        )
    codes, codes_tried = plain_codes(visible, lambda characters: _line(characters, keyring))
    return stream, [codes[start] for start in sorted(codes)], len(windows), codes_tried


def _line(characters: bytes, keyring: Keyring) -> tuple[Canary, str, int] | None:
    code = folded(characters)
    decoded = decode(keyring, code)
    return decoded and (decoded[0], code, decoded[1])


def plain_stream_windows(letters: bytes, keyring: Keyring) -> list[tuple[int, int, int]]:
    """Offset, identity and position counter of each eleven alphabet words in a row, -1 for both where none is true."""
    text, table = letters.decode("ascii"), mixing_table(keyring).tolist()
    windows = []
    for at in sorted(range(len(text) - 43), key=lambda at: (at % 4, at)):
        words = [_NUMBER.get(text[at + i : at + i + 4], -1) for i in range(0, 44, 4)]
        if min(words) >= 0:
            triples = zip(words, words[1:], words[2:], strict=False)
            data = [(last - first - table[middle]) % 2048 for first, middle, last in triples]
            windows.append((at, *_owner(data, keyring)))
    return windows


def _owner(data: list[int], keyring: Keyring) -> tuple[int, int]:
    for rotation in range(9):
        *block, position = data[rotation:] + data[:rotation]
        identity = sum(symbol << 11 * i for i, symbol in enumerate(block[:4]))
        canary = canary_of(identity)
        if canary.epoch in keyring.epochs() and block_symbols(keyring, canary) == tuple(block):
            return identity, position
    return -1, -1


def plain_codes(visible: bytes, read: Callable[[bytes], _Read | None]) -> tuple[dict[int, _Read], int]:
    """What `find_codes` returns, by looking at every place."""
    found: dict[int, _Read] = {}
    tried: set[int] = set()

    def attempt(start: int, characters: bytes) -> bool:
        tried.add(start)
        value = read(re.sub(rb"[^0-9a-z]", b"", characters))
        if value is not None:
            found[start] = value
        return value is not None

    rows = list(re.finditer(rb"(?<![0-9a-z])(?=(%b))" % _FOUR_GROUPS, visible))
    read_to = 0
    for numeric in re.finditer(rb"(?<![0-9a-z])(?=[a-z]*[0-9])[0-9a-z]{4}(?![0-9a-z])", visible):
        for row in rows:
            is_around = row.start() <= numeric.start() < row.end(1)
            if is_around and numeric.start() >= read_to and row.start() not in tried and attempt(row.start(), row[1]):
                read_to = row.end(1)
    for piece in re.finditer(rb"(?<![0-9a-z])[0-9a-z]{16}(?![0-9a-z])", visible):
        if _has_two_digits(piece[0]):
            attempt(piece.start(), piece[0])
    for ref in re.finditer(rb"ref(?=[^0-9a-z]{0,4}((?:[0-9a-z][^0-9a-z]{0,4}){15}[0-9a-z]))", visible):
        if tried.isdisjoint(range(ref.end(), ref.end() + 5)) and _has_two_digits(ref[1]):
            attempt(ref.start(1), ref[1])
    return found, len(tried)


_FOUR_GROUPS = rb"[0-9a-z]{4}(?:[^0-9a-z]{1,4}[0-9a-z]{4}){3}(?![0-9a-z])"


def _has_two_digits(characters: bytes) -> bool:
    return len(re.findall(rb"[0-9]", characters)) >= 2
