"""Whose canary text stands in an answer: its own, and, what must never be, another probe's."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Final

from prober.domain.canary import TENANT_BITS, Canary
from prober.domain.prompt import Prompt
from prober.domain.reading import Sighting, Tier
from prober.domain.target import TextForm
from prober.prompt import line_code, stream_code
from prober.prompt.alphabet import SYMBOL_BITS, WORD_LETTERS
from prober.prompt.decoder import WINDOW_WORDS, Decoding, Window, decode
from prober.prompt.keyring import Keyring
from prober.prompt.live import LIVE_WINDOW_WORDS, WINDOW_SYMBOLS, LiveIndex
from prober.prompt.own_text import OwnText
from prober.prompt.stream_symbols import Symbols

PAGE_BITS: Final = 25.0
"""Evidence at which a foreign sighting or a fragment tally pages: by chance once in 33 million answers."""

_CODE_LETTERS: Final = WINDOW_WORDS * WORD_LETTERS
_LIVE_LETTERS: Final = LIVE_WINDOW_WORDS * WORD_LETTERS
_REPEATED_WINDOW_BITS: Final = stream_code.POSITION * SYMBOL_BITS
"""A second window without a common symbol must repeat all symbols but the position."""
_REPEATED_CODE_BITS: Final = 72
"""A second, different code must decode to the very same tenant, probe and tag: all of its bits but the line's."""


@dataclasses.dataclass(slots=True, kw_only=True)
class _Hits:
    """What was found of one canary, as it adds up."""

    stream_windows: int = 0
    has_long_stretch: bool = False
    codes: dict[str, int] = dataclasses.field(default_factory=dict)
    live_windows: int = 0
    blocks: list[int] = dataclasses.field(default_factory=list)


def foreign_and_own(
    text: str, own: Prompt, keyring: Keyring, live: LiveIndex
) -> tuple[tuple[Sighting, ...], tuple[Sighting, ...]]:
    """Sightings of the answering probe's own canary, and of foreign ones: (own, foreign), one per canary, in order.

    A window is foreign only if its normalised text does not stand in the probe's own prompt: prompts that share text
    on purpose, twins and replays, never accuse each other.

    Evidence bits, for s stretches of 11 alphabet words, c code-shaped places and w stretches of 7 words examined in
    this answer, and K live probes; the strongest counts:

    * word stream: 44 - log2(9 s), and 88 - log2(9 s) more where one stretch holds two windows without common symbol;
    * n different line codes: 28 n + 72 (n - 1) - n log2(c);
    * live: 44 - log2(9 K w), less 11 where the tenant is the answering probe's own: a botched copy of its own text
      gets that symbol right.
    """
    decoding = decode(text, keyring)
    own_text = OwnText(own, keyring)
    hits: dict[Canary, _Hits] = {}
    for window, count in zip(decoding.windows, _countable(decoding.windows, own, own_text), strict=True):
        if count:
            _add_window(hits.setdefault(window.canary, _Hits()), window, count)
    examined = _count_live(hits, decoding, own, own_text, live)
    sightings = []
    for canary, found in sorted(hits.items()):
        live_bits = _live_bits(examined, len(live)) - (
            TENANT_BITS if canary.tenant_number == own.canary.tenant_number else 0
        )
        bits = max(_code_bits(found, decoding), live_bits if found.live_windows else 0.0)
        sightings.append(_sighting(canary, found, bits, is_live=live.knows(canary)))
    return (
        tuple(sighting for sighting in sightings if sighting.canary == own.canary),
        tuple(sighting for sighting in sightings if sighting.canary != own.canary),
    )


def _add_window(found: _Hits, window: Window, count: int) -> None:
    found.blocks += (window.first_block, window.last_block)
    if window.form is TextForm.NUMBERED_LINES:
        found.codes[window.text] = found.codes.get(window.text, 0) + count
        return
    found.stream_windows += count
    # The first and the last of so many share no symbol; text that runs in a loop repeats its position.
    if count > stream_code.PERIOD and window.first_block != window.last_block:
        found.has_long_stretch = True


def _countable(windows: Sequence[Window], own: Prompt, own_text: OwnText) -> list[int]:
    """How many windows of each stretch count: all own ones, and foreign ones that do not stand in the own prompt."""
    counts = [window.count for window in windows]
    pieces: dict[int, list[bytes]] = {}
    for i, window in enumerate(windows):
        if window.canary == own.canary:
            continue
        if window.form is TextForm.NUMBERED_LINES:
            counts[i] = 0 if own_text.has_code(window.text) else 1
            continue
        letters = window.text.encode("ascii")
        # A whole stretch that stands in the own prompt settles all of its windows with one search.
        if own_text.absent({letters}):
            pieces[i] = [letters[j * WORD_LETTERS :][:_CODE_LETTERS] for j in range(window.count)]
        else:
            counts[i] = 0
    absent = own_text.absent({piece for found in pieces.values() for piece in found})
    for i, found in pieces.items():
        counts[i] = sum(piece in absent for piece in found)
    return counts


def _count_live(hits: dict[Canary, _Hits], decoding: Decoding, own: Prompt, own_text: OwnText, live: LiveIndex) -> int:
    """Add shorter windows outside the decoded ones; returns how many were examined."""
    data = decoding.symbols.data.copy()
    for window in decoding.windows:
        data[window.symbols.start : window.symbols.stop] = -1
    symbols = Symbols(data=data, offsets=decoding.symbols.offsets)
    starts = symbols.windows(WINDOW_SYMBOLS)
    for match in live.match(symbols, starts):
        offset = int(symbols.offsets[match.start])
        piece = decoding.letters[offset : offset + _LIVE_LETTERS]
        if match.canary == own.canary or own_text.absent({piece}):
            found = hits.setdefault(match.canary, _Hits())
            found.live_windows += 1
            if match.block is not None:
                found.blocks.append(match.block)
    return len(starts)


def _code_bits(found: _Hits, decoding: Decoding) -> float:
    bits = 0.0
    if found.stream_windows:
        trials = math.log2(stream_code.PERIOD * decoding.stream_candidates)
        bits = stream_code.TAG_BITS - trials
        if found.has_long_stretch:
            bits = max(bits, bits + _REPEATED_WINDOW_BITS - trials)
    if found.codes:
        different = len(found.codes)
        one_more = (different - 1) * _REPEATED_CODE_BITS
        bits = max(bits, line_code.TAG_BITS + one_more - different * math.log2(decoding.code_candidates))
    return bits


def _live_bits(examined: int, probes: int) -> float:
    trials = stream_code.PERIOD * probes * examined
    return stream_code.TAG_BITS - math.log2(trials) if trials else 0.0


def _sighting(canary: Canary, found: _Hits, bits: float, *, is_live: bool) -> Sighting:
    code_windows = found.stream_windows + sum(found.codes.values())
    return Sighting(
        tier=Tier.CODE if code_windows else Tier.LIVE,
        canary=canary,
        is_live=is_live,
        windows=code_windows + found.live_windows,
        first_block=found.blocks[0] if found.blocks else None,
        last_block=found.blocks[-1] if found.blocks else None,
        evidence_bits=max(0.0, bits),
    )
