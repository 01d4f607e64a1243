"""Recognises canary text of any prompt sent under a keyring, with no look-up: tier CODE of both text forms."""

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import EPOCH_BITS, Canary
from prober.domain.target import TextForm
from prober.prompt import line_code, line_scan, stream_code
from prober.prompt.alphabet import SYMBOL_BITS, SYMBOLS, WORD_LETTERS
from prober.prompt.keyring import Keyring
from prober.prompt.normalised import letters_of, visible_ascii
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
        windows=(*_stream_windows(letters, symbols, starts, keyring), *codes),
        stream_candidates=len(starts),
        code_candidates=code_candidates,
        letters=letters,
        symbols=symbols,
    )


# --- word stream ----------------------------------------------------------------------------------------------------

_EPOCH_SHIFT = SYMBOL_BITS - EPOCH_BITS


def _stream_windows(letters: bytes, symbols: Symbols, starts: npt.NDArray[np.int64], keyring: Keyring) -> list[Window]:
    """Verify each nine-symbol window in each of nine rotations, then join neighbours of one canary."""
    known_epoch = np.isin(np.arange(SYMBOLS) >> _EPOCH_SHIFT, keyring.epochs())
    data = symbols.data.astype(np.int64)
    column = [data[starts + i] for i in range(stream_code.PERIOD)]
    trials = []
    for rotation in range(stream_code.PERIOD):
        turned = column[rotation:] + column[:rotation]
        # The epoch drops 31 of 32 wrong rotations before anything is computed for them.
        rows = np.flatnonzero(known_epoch[turned[stream_code.IDENTITY_SYMBOLS - 1]])
        picked = [symbol[rows] for symbol in turned]
        identity = _packed(picked[: stream_code.IDENTITY_SYMBOLS])
        tag = _packed(picked[stream_code.IDENTITY_SYMBOLS : stream_code.POSITION])
        trials.append((rows, identity, tag, picked[stream_code.POSITION]))
    rows, identity, tag, block = (np.concatenate(part) for part in zip(*trials, strict=True))
    right = np.flatnonzero(_has_tag(identity, tag, keyring))
    places = rows[right]
    identities, blocks = np.full(len(starts), -1, np.int64), np.zeros(len(starts), np.int64)
    identities[places] = identity[right]
    blocks[places] = block[right]
    return _joined(letters, symbols, starts, identities, blocks)


def _packed(symbols: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Symbols as one number, the first one lowest."""
    packed = symbols[-1]
    for symbol in symbols[-2::-1]:
        packed = packed << SYMBOL_BITS | symbol
    return packed


def _has_tag(identity: npt.NDArray[np.int64], tag: npt.NDArray[np.int64], keyring: Keyring) -> npt.NDArray[np.bool_]:
    """Which identities carry their true tag."""
    distinct, member = np.unique(identity, return_inverse=True)
    tags = np.array(stream_code.tag_numbers(keyring, distinct.tolist()), np.int64)
    right: npt.NDArray[np.bool_] = tags[member] == tag
    return right


def _joined(
    letters: bytes,
    symbols: Symbols,
    starts: npt.NDArray[np.int64],
    identities: npt.NDArray[np.int64],
    blocks: npt.NDArray[np.int64],
) -> list[Window]:
    """One Window per stretch of neighbouring windows with the same identity."""
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
    found, tried = line_scan.find_codes(visible, lambda characters: _line_window(characters, keyring))
    return [found[start] for start in sorted(found)], tried


def _line_window(characters: bytes, keyring: Keyring) -> Window | None:
    code = line_code.folded(characters)
    decoded = line_code.decode(keyring, code)
    if decoded is None:
        return None
    canary, line = decoded
    return Window(form=TextForm.NUMBERED_LINES, canary=canary, text=code, count=1, first_block=line, last_block=line)
