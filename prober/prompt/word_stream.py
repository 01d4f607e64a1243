"""Canary text as a stream of four-letter words: any 58 characters within a section name their tenant and probe."""

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import Canary
from prober.prompt.alphabet import CELLS
from prober.prompt.keyring import Keyring
from prober.prompt.stream_code import MASK, PERIOD, SYNC_WORDS, block_symbols, identity_number, mixing_table

WORDS_PER_LINE: Final = 16
SECTION_LINES: Final = 125
"""Lines between two instruction lines: 2,000 words."""

_ROWS_AT_ONCE = 256
_FEW_SECTIONS = 8
"""A row of so few words costs more as an array than one by one."""


def sections(keyring: Keyring, canary: Canary, section_lines: Sequence[int], *, is_shared: bool = False) -> list[bytes]:
    """ASCII filler: one item per section, with that many newline-terminated lines of 16 words.

    The chain of words restarts at each section with two fresh words; block phase and position counter run on.
    A canary's shared text is a stream of its own: the same symbols behind other fresh words, hence other words
    throughout, since two chains over the same symbols never meet.
    Sections are computed side by side, so work and memory grow with the longest section times their number: keep
    them alike in length.

    Raises:
        KeyringError: The canary's epoch is not on the keyring.
        ValueError: A negative number of lines.
    """
    if any(lines < 0 for lines in section_lines):
        raise ValueError("a section cannot have a negative number of lines")
    if not any(section_lines):
        return [b""] * len(section_lines)
    words = np.array(section_lines, np.int64) * WORDS_PER_LINE
    first_words = np.cumsum(words) - words
    purpose = "shared stream sync" if is_shared else "stream sync"
    chain = _data_symbols(block_symbols(keyring, canary), first_words, int(words.max()))
    _chain_in_place(chain, _sync_words(keyring, canary, len(words), purpose), mixing_table(keyring))
    by_section = np.ascontiguousarray(chain.T)
    del chain
    return [_rendered(by_section[number, :count]) for number, count in enumerate(words.tolist())]


def _data_symbols(block: Sequence[int], first_words: npt.NDArray[np.int64], rows: int) -> npt.NDArray[np.uint16]:
    """Data symbol of each word; shape (rows, sections)."""
    symbols = np.array([*block, 0], np.uint16)
    data = np.empty((rows, len(first_words)), np.uint16)
    for start in range(0, rows, _ROWS_AT_ONCE):
        count = min(_ROWS_AT_ONCE, rows - start)
        counter = (first_words + start + np.arange(count)[:, None]).astype(np.uint32)
        blocks = counter // np.uint32(PERIOD)
        counter -= blocks * np.uint32(PERIOD)
        part = symbols[counter]
        np.copyto(part, (blocks & MASK).astype(np.uint16), where=counter == PERIOD - 1)
        data[start : start + count] = part
    return data


def _sync_words(keyring: Keyring, canary: Canary, count: int, purpose: str) -> npt.NDArray[np.uint16]:
    """Two words to start each section with; shape (2, sections)."""
    seed = keyring.epoch_key(canary.epoch, purpose) + identity_number(canary).to_bytes(6, "big")
    drawn = np.frombuffer(hashlib.shake_256(seed).digest(2 * SYNC_WORDS * count), "<u2").reshape(count, SYNC_WORDS)
    return (drawn.T & MASK).astype(np.uint16)


def _chain_in_place(data: npt.NDArray[np.uint16], sync: npt.NDArray[np.uint16], table: npt.NDArray[np.uint16]) -> None:
    """Turn data symbols into word numbers: all sections at once, row by row, where there are enough of them."""
    data[:SYNC_WORDS] = sync
    if data.shape[1] <= _FEW_SECTIONS:
        numbers = table.tolist()
        for section in data.T:
            section[:] = _chained(section.tolist(), numbers)
        return
    before, last = data[0], data[1]
    for number in range(SYNC_WORDS, len(data)):
        row = data[number]
        row += before
        row += table.take(last)
        row &= MASK
        before, last = last, row


def _chained(section: list[int], table: list[int]) -> list[int]:
    for number in range(SYNC_WORDS, len(section)):
        section[number] = section[number] + section[number - 2] + table[section[number - 1]] & MASK
    return section


def _rendered(word_numbers: npt.NDArray[np.uint16]) -> bytes:
    cells = CELLS.take(word_numbers, axis=0)
    cells[WORDS_PER_LINE - 1 :: WORDS_PER_LINE, -1] = ord("\n")
    return cells.tobytes()
