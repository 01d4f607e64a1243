"""Whose canary text stands in an answer: its own, and, what must never be, another probe's."""

import dataclasses
import itertools
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

_MOST_PHRASE_OWNERS: Final = 64
_MOST_PIECES: Final = 64
"""Looked at of one canary's windows, evenly spread: a leak is seldom shorter, and soon leaves its edges behind."""
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
    pieces: list[bytes] = dataclasses.field(default_factory=list)
    """Letters of the foreign windows of both lengths."""
    phrases: set[bytes] = dataclasses.field(default_factory=set)
    blocks: list[int] = dataclasses.field(default_factory=list)


def foreign_and_own(
    text: str, own: Prompt, keyring: Keyring, live: LiveIndex
) -> tuple[tuple[Sighting, ...], tuple[Sighting, ...]]:
    """Sightings of the answering probe's own canary, and of foreign ones: (own, foreign), one per canary, in order.

    A window is foreign only if its normalised text does not stand in the probe's own prompt: prompts that share text
    on purpose, twins and replays, never accuse each other. Nor do windows that are foreign by one end alone, where a
    copy of shared text went wrong: a window's position is not authenticated, so one strange word can still decode.

    Evidence bits, for s stretches of 11 alphabet words, c code-shaped places and w stretches of 7 words examined in
    this answer, and K live probes; the strongest counts:

    * word stream: 44 - log2(9 s), and 88 - log2(9 s) more where one stretch holds two windows without common symbol;
    * n different line codes: 28 n + 72 (n - 1) - n log2(c);
    * live: 44 - log2(9 K w), less 11 where the tenant is the answering probe's own: a botched copy of its own text
      gets that symbol right;
    * phrases of needles: as `phrases` says, whole ones only.
    """
    decoding = decode(text, keyring)
    own_text = OwnText(own, keyring)
    hits: dict[Canary, _Hits] = {}
    foreign_pieces = _foreign_pieces(decoding.windows, own, own_text)
    for i, window in enumerate(decoding.windows):
        pieces = foreign_pieces.get(i, [])
        if pieces or window.canary == own.canary:
            _add_window(hits.setdefault(window.canary, _Hits()), window, pieces)
    examined = _count_live(hits, decoding, own, own_text, live)
    _forget_botched(hits, own, own_text)
    phrase_places = _count_phrases(hits, decoding, own, own_text, live)
    sightings = []
    for canary, found in sorted(hits.items()):
        live_bits = _live_bits(examined, len(live)) - (
            TENANT_BITS if canary.tenant_number == own.canary.tenant_number else 0
        )
        phrase_bits = live.phrases.evidence_bits(found.phrases, phrase_places) if found.phrases else 0.0
        bits = max(_code_bits(found, decoding), live_bits if found.live_windows else 0.0, phrase_bits)
        sightings.append(_sighting(canary, found, bits, is_live=live.knows(canary)))
    return (
        tuple(sighting for sighting in sightings if sighting.canary == own.canary),
        tuple(sighting for sighting in sightings if sighting.canary != own.canary),
    )


def _add_window(found: _Hits, window: Window, pieces: Sequence[bytes]) -> None:
    """Add a stretch: all of an own one, the foreign pieces of any other."""
    found.blocks += (window.first_block, window.last_block)
    if window.form is TextForm.NUMBERED_LINES:
        found.codes[window.text] = found.codes.get(window.text, 0) + 1
        return
    count = len(pieces) or window.count
    found.stream_windows += count
    found.pieces += pieces
    # The first and the last of so many share no symbol; text that runs in a loop repeats its position.
    if count > stream_code.PERIOD and window.first_block != window.last_block:
        found.has_long_stretch = True


def _foreign_pieces(windows: Sequence[Window], own: Prompt, own_text: OwnText) -> dict[int, list[bytes]]:
    """Of each stretch of another canary, what does not stand in the own prompt, window by window."""
    pieces: dict[int, list[bytes]] = {}
    for i, window in enumerate(windows):
        # A whole stretch that stands in the own prompt settles all of its windows with one search.
        if window.canary != own.canary and not _is_own(window, own_text):
            pieces[i] = _pieces(window)
    of_streams = [i for i in pieces if windows[i].form is TextForm.WORD_STREAM]
    absent = own_text.absent({piece for i in of_streams for piece in pieces[i]})
    for i in of_streams:
        pieces[i] = [piece for piece in pieces[i] if piece in absent]
    return pieces


def _is_own(window: Window, own_text: OwnText) -> bool:
    if window.form is TextForm.NUMBERED_LINES:
        return own_text.has_code(window.text)
    return not own_text.absent({window.text.encode("ascii")})


def _pieces(window: Window) -> list[bytes]:
    """Letters of each window of a stretch; of a line its code."""
    text = window.text.encode("ascii")
    if window.form is TextForm.NUMBERED_LINES:
        return [text]
    return [text[i * WORD_LETTERS :][:_CODE_LETTERS] for i in range(window.count)]


def _forget_botched(hits: dict[Canary, _Hits], own: Prompt, own_text: OwnText) -> None:
    """Take back what a faulty copy of shared text explains: each window stands in the own prompt but for an end."""
    for canary in [canary for canary, found in hits.items() if canary != own.canary and not found.codes]:
        pieces = hits[canary].pieces
        if all(map(own_text.holds_half, pieces[:: 1 + len(pieces) // _MOST_PIECES])):
            del hits[canary]


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
            found.pieces.append(piece)
            if match.block is not None:
                found.blocks.append(match.block)
    return len(starts)


def _count_phrases(
    hits: dict[Canary, _Hits], decoding: Decoding, own: Prompt, own_text: OwnText, live: LiveIndex
) -> int:
    """Add whole phrases of other live probes; returns how many places were tried."""
    finds = live.phrases.find(decoding.letters)
    # Whole prompts may stand in an answer, each with its phrases: the first ones accuse enough.
    for canary, phrases in itertools.islice(finds.by_canary.items(), _MOST_PHRASE_OWNERS):
        foreign = set() if canary == own.canary else own_text.without(phrases)
        if foreign:
            hits.setdefault(canary, _Hits()).phrases |= foreign
    return finds.places


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
    windows = code_windows + found.live_windows
    without_code = Tier.LIVE if found.live_windows else Tier.PHRASE
    return Sighting(
        tier=Tier.CODE if code_windows else without_code,
        canary=canary,
        is_live=is_live,
        windows=windows or len(found.phrases),
        first_block=found.blocks[0] if found.blocks else None,
        last_block=found.blocks[-1] if found.blocks else None,
        evidence_bits=max(0.0, bits),
    )
