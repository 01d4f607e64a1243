"""Recognises canary text of any prompt sent under a keyring, with no look-up: tier CODE of both text forms."""

import dataclasses
import functools
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import Canary
from prober.domain.target import TextForm
from prober.prompt import line_code, line_scan, stream_code
from prober.prompt.alphabet import WORD_LETTERS
from prober.prompt.keyring import Keyring
from prober.prompt.normalised import letters_of, visible_ascii
from prober.prompt.stream_scan import StreamScan
from prober.prompt.stream_symbols import Symbols, symbols_of

WINDOW_WORDS: Final = stream_code.PERIOD + stream_code.SYNC_WORDS
"""Words of a stream window: 11, found in any 58 consecutive characters."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Decoded canary text: a stretch of overlapping 11-word windows of one canary, or one line code."""

    form: TextForm
    canary: Canary
    text: str = dataclasses.field(repr=False)
    """Our own text, normalised: letters only, or the 16 characters of a line code as the prober writes them."""
    count: int
    """Windows in the stretch."""
    first_block: int
    last_block: int
    """Position counters: blocks mod 2048 (word stream), lines mod 256 (numbered lines)."""
    symbols: range = dataclasses.field(default=range(0), repr=False)
    """Indexes of the data symbols read (word stream)."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """All of one text that the key explains, and how many places were tried: evidence is worth less the more."""

    windows: tuple[Window, ...]
    stream_candidates: int
    """Stretches of 11 alphabet words in a row that were examined."""
    code_candidates: int
    """Code-shaped places that were examined."""
    letters: bytes = dataclasses.field(repr=False)
    symbols: Symbols = dataclasses.field(repr=False)


def scan(text: str, keyring: Keyring) -> tuple[Window, ...]:
    """All self-authenticating windows of both forms, of any epoch on the keyring; word stream first.

    False attribution of random text: 9 * 2**-44 = 5.1e-13 per stretch of 11 alphabet words, 2**-28 per code-shaped
    place.
    """
    return decode(text, keyring).windows


def decode(text: str, keyring: Keyring) -> Decoding:
    """`scan`, with what later tiers need of it."""
    visible = visible_ascii(text)
    letters = letters_of(visible)
    symbols = symbols_of(letters, stream_code.mixing_table(keyring))
    starts = symbols.windows(stream_code.PERIOD)
    codes, code_candidates = _line_windows(visible, keyring)
    return Decoding(
        windows=(*_joined(letters, symbols, starts, StreamScan(symbols, starts, keyring)), *codes),
        stream_candidates=len(starts),
        code_candidates=code_candidates,
        letters=letters,
        symbols=symbols,
    )


# --- word stream ----------------------------------------------------------------------------------------------------


def _joined(letters: bytes, symbols: Symbols, starts: npt.NDArray[np.int64], scanned: StreamScan) -> list[Window]:
    """One Window per stretch of neighbouring windows with the same identity."""
    identities, blocks = scanned.identities, scanned.blocks
    hits = np.flatnonzero(identities >= 0)
    apart = np.flatnonzero((np.diff(starts[hits]) != 1) | (np.diff(identities[hits]) != 0))
    firsts = hits[np.concatenate(([0], apart + 1))] if len(hits) else hits
    lasts = hits[np.concatenate((apart, [len(hits) - 1]))] if len(hits) else hits
    windows = []
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        begin = int(symbols.offsets[starts[first]])
        count = int(starts[last] - starts[first]) + 1
        text = letters[begin : begin + (count + WINDOW_WORDS - 1) * WORD_LETTERS]
        windows.append(
            Window(
                form=TextForm.WORD_STREAM,
                canary=stream_code.canary_of(int(identities[first])),
                text=text.decode("ascii"),
                count=count,
                first_block=int(blocks[first]),
                last_block=int(blocks[last]),
                symbols=range(int(starts[first]), int(starts[last]) + stream_code.PERIOD),
            )
        )
    return windows


# --- numbered lines -------------------------------------------------------------------------------------------------


def _line_windows(visible: bytes, keyring: Keyring) -> tuple[list[Window], int]:
    """Windows of line codes in text order, and the number of candidates tried."""
    # A probe's codes repeat every 256 lines.
    window_of = functools.cache(functools.partial(_line_window, keyring=keyring))
    found, tried = line_scan.find_codes(visible, window_of)
    return [found[start] for start in sorted(found)], tried


def _line_window(characters: bytes, keyring: Keyring) -> Window | None:
    code = line_code.folded(characters)
    decoded = line_code.decode(keyring, code)
    if decoded is None:
        return None
    canary, line = decoded
    return Window(form=TextForm.NUMBERED_LINES, canary=canary, text=code, count=1, first_block=line, last_block=line)
