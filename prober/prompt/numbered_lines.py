r"""Canary text as numbered lines: `000001. [ref XXXX-XXXX-XXXX-XXXX] word word ...`, an attributable item on each.

A form that an LLM continues by itself, whatever stale page it reads. The code names tenant and probe (80 bits, 28 of
them tag: a random code-shaped text is attributed with probability 2**-28); the words come from a slice of the
alphabet that belongs to the tenant. The alphabet falls into 16 slices of 128 words by a keyed shuffle, tenant n uses
slice n mod 16: tenants whose numbers differ mod 16 share no word, all others share all.
"""

import functools
import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import Canary
from prober.prompt.alphabet import CELLS, SYMBOLS
from prober.prompt.keyring import Keyring
from prober.prompt.line_code import GROUP_CHARACTERS, LINE_COUNTERS, codes
from prober.prompt.stream_code import identity_number

WORDS_PER_LINE: Final = 12
SECTION_LINES: Final = 125
SLICES: Final = 16
SLICE_WORDS: Final = SYMBOLS // SLICES
SHARED_CODES: Final = 16
"""Codes of a probe, the last ones, that stand in no line but those of its shared text."""
OWN_CODES: Final = LINE_COUNTERS - SHARED_CODES
"""A prompt's codes repeat after so many lines."""

_NUMBER_DIGITS = 6
# Digits never grow, or token counts were not additive over lines.
_NUMBER_MODULUS = 10**_NUMBER_DIGITS
_BEFORE_CODE = b". [ref "
_AFTER_CODE = b"] "
_CODE_BYTES = 19


def slice_number(tenant_number: int) -> int:
    """Which of the 16 vocabulary slices a tenant's lines use."""
    return tenant_number % SLICES


def slice_of_words(keyring: Keyring) -> npt.NDArray[np.uint8]:
    """Slice number of each alphabet word, shape (2048,), 128 words each; read-only."""
    return _shuffled_slices(keyring.lineage_key("vocabulary slices"))


@functools.lru_cache(maxsize=16)
def _shuffled_slices(key: bytes) -> npt.NDArray[np.uint8]:
    order = np.argsort(np.frombuffer(hashlib.shake_256(key).digest(8 * SYMBOLS), "<u8"), kind="stable")
    slices = np.empty(SYMBOLS, np.uint8)
    slices[order] = np.arange(SYMBOLS) % SLICES
    slices.flags.writeable = False
    return slices


def sections(keyring: Keyring, canary: Canary, section_lines: Sequence[int], *, is_shared: bool = False) -> list[bytes]:
    """ASCII filler: one item per section, with that many newline-terminated lines; line numbers run on from 1.

    A canary's shared text has codes and words of its own: who shares it must still be told that a page of the other
    text is foreign.

    Raises:
        KeyringError: The canary's epoch is not on the keyring.
        ValueError: A negative number of lines.
    """
    if any(lines < 0 for lines in section_lines):
        raise ValueError("a section cannot have a negative number of lines")
    words = _drawn_words(keyring, canary, sum(section_lines), "shared line words" if is_shared else "line words")
    refs = _code_cells(keyring, canary, len(words), is_shared=is_shared)
    filler, first = [], 0
    for count in section_lines:
        filler.append(_rendered(first, words[first : first + count], refs))
        first += count
    return filler


def _drawn_words(keyring: Keyring, canary: Canary, lines: int, purpose: str) -> npt.NDArray[np.uint16]:
    """Word numbers from the tenant's slice; shape (lines, 12)."""
    vocabulary = np.flatnonzero(slice_of_words(keyring) == slice_number(canary.tenant_number)).astype(np.uint16)
    seed = keyring.epoch_key(canary.epoch, purpose) + identity_number(canary).to_bytes(6, "big")
    drawn = np.frombuffer(hashlib.shake_256(seed).digest(lines * WORDS_PER_LINE), np.uint8)
    words: npt.NDArray[np.uint16] = vocabulary[drawn & (SLICE_WORDS - 1)].reshape(lines, WORDS_PER_LINE)
    return words


def _code_cells(keyring: Keyring, canary: Canary, lines: int, *, is_shared: bool) -> npt.NDArray[np.uint8]:
    """Codes of so many lines, before they repeat, in ASCII with hyphens; shape (codes, 19)."""
    # Each code takes some microseconds, and short prompts need few.
    own = codes(keyring, canary)[OWN_CODES:][:lines] if is_shared else codes(keyring, canary, min(lines, OWN_CODES))
    written = "".join("-".join(grouped(code)) for code in own)
    return np.frombuffer(written.encode("ascii"), np.uint8).reshape(len(own), _CODE_BYTES)


def grouped(code: str) -> tuple[str, ...]:
    """Four groups of a 16-character code."""
    return tuple(code[i : i + GROUP_CHARACTERS] for i in range(0, len(code), GROUP_CHARACTERS))


def _rendered(first: int, words: npt.NDArray[np.uint16], refs: npt.NDArray[np.uint8]) -> bytes:
    count = len(words)
    counters = np.arange(first, first + count)
    powers = 10 ** np.arange(_NUMBER_DIGITS - 1, -1, -1)
    digits = ((counters + 1) % _NUMBER_MODULUS)[:, None] // powers % 10 + ord("0")
    body = CELLS.take(words, axis=0).reshape(count, WORDS_PER_LINE * CELLS.shape[1])
    body[:, -1] = ord("\n")
    fixed = [np.broadcast_to(np.frombuffer(part, np.uint8), (count, len(part))) for part in (_BEFORE_CODE, _AFTER_CODE)]
    columns = [digits.astype(np.uint8), fixed[0], refs[counters % max(1, len(refs))], fixed[1], body]
    return np.hstack(columns).tobytes()
