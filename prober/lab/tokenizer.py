"""A plain, additive tokenizer: words, single punctuation marks and newlines; fast on megabytes.

A token is a run of letters and digits (non-ASCII characters count as letters) cut into pieces of at most 16 bytes, or
one punctuation mark, or one newline. Blanks before a token are absorbed into it, as byte-pair tokenizers do. Text made
of newline-terminated lines therefore costs exactly the sum of its lines.
"""

import threading
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
_Keys = npt.NDArray[np.uint64]
_Numbers = npt.NDArray[np.int64]

PIECE_BYTES = 16
MAX_PIECES = 1 << 22
"""Pieces beyond this many distinct ones all become the unknown token: memory stays bounded."""

# Ids are 2 * piece + (1 when a blank stands before it). Pieces below _FIRST_PIECE are special.
PADDING = 0
BEGIN, SYSTEM, USER, ASSISTANT, END, TOOL, UNKNOWN = (2 * piece for piece in range(1, 8))
FIRST_ORDINARY = 32
_FIRST_PIECE = FIRST_ORDINARY // 2
NEWLINE = FIRST_ORDINARY
_ROLES = {"system": SYSTEM, "developer": SYSTEM, "user": USER, "assistant": ASSISTANT, "tool": TOOL}
_SPECIAL_TEXT = {PADDING: b"!"}
"""Id 0 is "!" in many vocabularies, which is why cleared memory reads as a row of exclamation marks."""

PREAMBLE = "You are a careful assistant. You answer each request briefly and in plain English words only."
TEMPLATE_TOKENS = 24
"""What the chat template with this preamble adds to a single user message."""

_WORD, _BLANK, _OTHER = 1, 2, 3
_CLASSES = bytes(
    _WORD if chr(byte).isalnum() or byte >= 0x80 else _BLANK if chr(byte) in " \t\r" else _OTHER  # noqa: PLR2004 - not ASCII
    for byte in range(256)
)
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(9)], dtype=np.uint64)
_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_BLOCK = 1 << 15
_UNUSED = np.uint64(0xFFFFFFFFFFFFFFFF)


class Tokenizer:
    """Text to ids and back, with a vocabulary that grows as it reads. Safe to use from several threads."""

    def __init__(self, preamble: str = PREAMBLE) -> None:
        self._lock = threading.Lock()
        self._bits = 16
        self._slots = np.zeros(1 << self._bits, dtype=np.int32)
        self._low = np.full(1 << 15, _UNUSED, dtype=np.uint64)
        self._high = np.zeros(1 << 15, dtype=np.uint64)
        self._count = _FIRST_PIECE
        newline = np.array([ord("\n")], dtype=np.uint64)
        with self._lock:
            self._add(newline, np.zeros(1, dtype=np.uint64))
        self._preamble = np.concatenate([[BEGIN, SYSTEM], self.encode(preamble), [END]]).astype(np.int32)

    @property
    def pieces(self) -> int:
        """Vocabulary size so far; `id // 2` is below it for every id handed out."""
        return self._count

    def encode(self, text: str) -> Ids:
        """Split text into ids. Special tokens cannot be written as text."""
        data = text.encode("utf-8", errors="replace")
        if not data:
            return np.zeros(0, dtype=np.int32)
        starts, lengths, is_blank_before = _split(data)
        windows = np.ndarray((len(data) + 8,), dtype="<u8", buffer=data + bytes(PIECE_BYTES), strides=(1,))
        pieces = np.empty(len(starts), dtype=np.int32)
        # In blocks: they stay in the processor's cache, and new words are new only once.
        for block in range(0, len(starts), _BLOCK):
            part = slice(block, block + _BLOCK)
            low, high = _keys(windows, starts[part], lengths[part])
            with self._lock:
                pieces[part] = self._intern(low, high)
        is_blank_before &= pieces != _FIRST_PIECE
        return pieces << 1 | is_blank_before

    def encode_chat(self, messages: Iterable[tuple[str, str]]) -> Ids:
        """Render (role, content) messages into the chat template, ready for the assistant's turn."""
        parts: list[Ids | list[int]] = [self._preamble]
        for role, content in messages:
            parts += [[_ROLES.get(role, USER)], self.encode(content), [END]]
        return np.concatenate([*parts, [ASSISTANT]]).astype(np.int32)

    def decode(self, ids: Ids | Sequence[int]) -> str:
        """Write ids as text; special tokens vanish, padding reads "!"."""
        array = np.asarray(ids, dtype=np.int32)
        pieces = array >> 1
        raw = np.stack([self._low[pieces], self._high[pieces]], axis=1).astype("<u8").tobytes()
        words = np.frombuffer(raw, dtype=f"S{PIECE_BYTES}").tolist() if len(array) else []
        text = b"".join(
            _SPECIAL_TEXT.get(number, b"") if number < FIRST_ORDINARY else (b" " if number & 1 else b"") + word
            for number, word in zip(array.tolist(), words, strict=True)
        )
        return text.decode("utf-8", errors="replace")

    def _intern(self, low: _Keys, high: _Keys) -> Ids:
        slots = self._hash(low, high)
        pieces = self._slots[slots]
        pending = np.flatnonzero((self._low[pieces] != low) | (self._high[pieces] != high))
        missing: list[npt.NDArray[np.intp]] = []
        while pending.size:
            is_missing = pieces[pending] == 0
            missing.append(pending[is_missing])
            pending = pending[~is_missing]
            slots[pending] = (slots[pending] + 1) & (len(self._slots) - 1)
            found = pieces[pending] = self._slots[slots[pending]]
            pending = pending[(self._low[found] != low[pending]) | (self._high[found] != high[pending])]
        unseen = np.concatenate(missing) if missing else np.zeros(0, dtype=np.intp)
        if unseen.size:
            pieces[unseen] = self._add(low[unseen], high[unseen])
        return pieces

    def _add(self, low: _Keys, high: _Keys) -> Ids:
        """Give new keys (duplicates allowed) the next pieces; the lock is held."""
        order = np.lexsort((high, low))
        low, high = low[order], high[order]
        is_first = np.ones(len(low), dtype=bool)
        is_first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
        pieces = (np.cumsum(is_first) - 1 + self._count).astype(np.int32)
        back = np.empty_like(pieces)
        if self._count + int(is_first.sum()) > MAX_PIECES:
            back[:] = UNKNOWN >> 1
            return back
        back[order] = pieces
        self._store(low[is_first], high[is_first])
        return back

    def _store(self, low: _Keys, high: _Keys) -> None:
        first, self._count = self._count, self._count + len(low)
        if self._count > len(self._low):
            room = max(2 * len(self._low), self._count)
            self._low = np.concatenate([self._low, np.full(room - len(self._low), _UNUSED, dtype=np.uint64)])
            self._high = np.concatenate([self._high, np.zeros(room - len(self._high), dtype=np.uint64)])
        self._low[first : self._count], self._high[first : self._count] = low, high
        if 2 * self._count > len(self._slots):
            while 2 * self._count > 1 << self._bits:
                self._bits += 1
            self._slots = np.zeros(1 << self._bits, dtype=np.int32)
            first = _FIRST_PIECE
        self._place(np.arange(first, self._count, dtype=np.int32))

    def _place(self, pieces: Ids) -> None:
        slots = self._hash(self._low[pieces], self._high[pieces])
        while pieces.size:
            is_free = self._slots[slots] == 0
            _, winners = np.unique(slots[is_free], return_index=True)
            placed = np.flatnonzero(is_free)[winners]
            self._slots[slots[placed]] = pieces[placed]
            pieces, slots = np.delete(pieces, placed), np.delete(slots, placed)
            slots = np.where(self._slots[slots] == 0, slots, (slots + 1) & (len(self._slots) - 1))

    def _hash(self, low: _Keys, high: _Keys) -> _Numbers:
        mixed = (low * _MULTIPLIERS[0]) ^ (high * _MULTIPLIERS[1])
        return (mixed >> np.uint64(64 - self._bits)).astype(np.int64)


def _split(data: bytes) -> tuple[_Numbers, _Numbers, npt.NDArray[np.bool_]]:
    """Start, length in bytes and "a blank stands before" of every piece, in order."""
    classes = np.frombuffer(data.translate(_CLASSES), dtype=np.uint8)
    edges = np.flatnonzero(classes[1:] != classes[:-1]) + 1
    starts = np.concatenate([[0], edges])
    lengths = np.diff(starts, append=len(data))
    kinds = classes[starts]
    is_blank = kinds == _BLANK
    is_blank_before = np.concatenate([[False], is_blank[:-1]])
    is_piece = ~is_blank
    starts, lengths, is_blank_before = starts[is_piece], lengths[is_piece], is_blank_before[is_piece]
    longest = np.where(kinds[is_piece] == _WORD, PIECE_BYTES, 1)
    if (lengths > longest).any():
        return _cut(starts, lengths, longest, is_blank_before)
    return starts, lengths, is_blank_before


def _cut(
    starts: _Numbers, lengths: _Numbers, longest: _Numbers, is_blank_before: npt.NDArray[np.bool_]
) -> tuple[_Numbers, _Numbers, npt.NDArray[np.bool_]]:
    """Cut runs that are too long for one piece."""
    counts = -(-lengths // longest)
    firsts = np.cumsum(counts) - counts
    step = np.arange(counts.sum()) - np.repeat(firsts, counts)
    offset = step * np.repeat(longest, counts)
    cut = np.minimum(np.repeat(longest, counts), np.repeat(lengths, counts) - offset)
    return np.repeat(starts, counts) + offset, cut, np.repeat(is_blank_before, counts) & (step == 0)


def _keys(windows: _Keys, starts: _Numbers, lengths: _Numbers) -> tuple[_Keys, _Keys]:
    """Bytes of every piece as two little-endian words, zero-padded: an exact identity, as no piece ends in NUL."""
    low = windows[starts] & _MASKS[np.minimum(lengths, 8)]
    high = np.zeros(len(starts), dtype=np.uint64)
    is_long = np.flatnonzero(lengths > 8)  # noqa: PLR2004 - bytes in one key word
    high[is_long] = windows[starts[is_long] + 8] & _MASKS[lengths[is_long] - 8]
    return low, high
