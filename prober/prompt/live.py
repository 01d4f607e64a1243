"""The probes of this process that may still turn up in an answer, held in memory, bounded."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import Canary
from prober.domain.options import PLAIN, RequestOptions
from prober.domain.prompt import Prompt
from prober.domain.target import TextForm
from prober.prompt.alphabet import SYMBOL_BITS
from prober.prompt.choices import ChoiceIndex
from prober.prompt.donor_index import DonorIndex
from prober.prompt.donors import Donor
from prober.prompt.keyring import Keyring
from prober.prompt.numbered_lines import slice_number, slice_of_words
from prober.prompt.phrases import PhraseIndex
from prober.prompt.stream_code import PERIOD, POSITION, SYNC_WORDS, block_symbols
from prober.prompt.stream_symbols import Symbols

WINDOW_SYMBOLS: Final = 5
LIVE_WINDOW_WORDS: Final = WINDOW_SYMBOLS + SYNC_WORDS
"""Words of a live window: 7, found in any 38 consecutive characters."""

_LAYOUT_SHIFT: Final = WINDOW_SYMBOLS * SYMBOL_BITS
_FILTER_BITS: Final = 20
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
"""2**64 / golden ratio: Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4)."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LiveMatch:
    """A five-symbol window that fits exactly one live probe."""

    canary: Canary
    start: int
    """Index of its first symbol."""
    block: int | None
    """Position counter, where the window holds it."""


class LiveIndex:
    """Live probes by canary and by each five-symbol window of their cyclic data; the oldest are forgotten first.

    Of all of them it holds phrases and choices, of the latest ones fragments of their text.
    """

    def __init__(self, keyring: Keyring, capacity: int = 10_000) -> None:
        if capacity < 1:
            raise ValueError(f"capacity {capacity} is below 1")
        self._keyring = keyring
        self._capacity = capacity
        self._forms: dict[Canary, TextForm] = {}
        self.fragments = DonorIndex()
        self.phrases = PhraseIndex()
        self.choices = ChoiceIndex()
        self._anew: tuple[Prompt, Donor] | None = None
        self._owners: dict[int, Canary | None] = {}
        self._filter = np.zeros(1 << _FILTER_BITS, np.bool_)
        self._forgotten = 0

    def __len__(self) -> int:
        """Live probes held."""
        return len(self._forms)

    def remember(self, prompt: Prompt, form: TextForm, options: RequestOptions = PLAIN) -> None:
        """Hold a prompt's canary, phrases and choices; call it before the prompt is sent.

        Raises:
            KeyringError: The canary's epoch is not on the keyring.
        """
        canary = prompt.canary
        self._enter(canary)
        self.fragments.add(Donor.of(prompt, form))
        self.phrases.remember(canary, prompt.needles)
        self.choices.remember(canary, options.choices)
        self._forms.pop(canary, None)
        self._forms[canary] = form
        if len(self._forms) > self._capacity:
            self._forget(next(iter(self._forms)))

    def knows(self, canary: Canary) -> bool:
        """Whether the canary is live."""
        return canary in self._forms

    def donors(self) -> tuple[Donor, ...]:
        """Latest prompts with their fragments, oldest first."""
        return self.fragments.roster.donors

    def donor_of(self, prompt: Prompt) -> Donor:
        """Fragments of a prompt, taken apart anew when they are no longer held; asked again, no third time."""
        held = self.fragments.get(prompt.canary)
        if held is not None:
            return held
        if self._anew is None or self._anew[0] is not prompt:
            form = TextForm.NUMBERED_LINES if "[ref " in prompt.text else TextForm.WORD_STREAM
            self._anew = prompt, Donor.of(prompt, form)
        return self._anew[1]

    def slice_words(self, tenant_number: int) -> npt.NDArray[np.bool_]:
        """Which alphabet words a tenant's numbered lines draw from; shape (2048,)."""
        return np.equal(self.word_slices(), slice_number(tenant_number))

    def word_slices(self) -> npt.NDArray[np.uint8]:
        """Slice number of each alphabet word; shape (2048,)."""
        return slice_of_words(self._keyring)

    def match(self, symbols: Symbols, starts: npt.NDArray[np.int64]) -> Iterator[LiveMatch]:
        """Live probes that windows of five known symbols, beginning at `starts`, fit; none where more than one fits.

        False attribution of random symbols: 9 * 2**-44 * live probes per window (5.1e-9 at 10,000).
        """
        columns = [symbols.data[starts + i].astype(np.uint64) for i in range(WINDOW_SYMBOLS)]
        for layout, masked in enumerate((*range(WINDOW_SYMBOLS), None)):
            keys = np.full(len(starts), layout << _LAYOUT_SHIFT, np.uint64)
            for i, column in enumerate(columns):
                if i != masked:
                    keys |= column << np.uint64(SYMBOL_BITS * i)
            for row in np.flatnonzero(self._filter[_slots(keys)]).tolist():
                canary = self._owners.get(int(keys[row]))
                if canary is not None:
                    block = None if masked is None else int(columns[masked][row])
                    yield LiveMatch(canary=canary, start=int(starts[row]), block=block)

    def _enter(self, canary: Canary) -> None:
        keys = _window_keys(block_symbols(self._keyring, canary))
        for key in keys:
            if self._owners.setdefault(key, canary) != canary:
                self._owners[key] = None
        self._filter[_slots(np.array(keys, np.uint64))] = True

    def _forget(self, canary: Canary) -> None:
        del self._forms[canary]
        self.fragments.remove(canary)
        self.phrases.forget(canary)
        self.choices.forget(canary)
        for key in _window_keys(block_symbols(self._keyring, canary)):
            if self._owners.get(key) == canary:
                del self._owners[key]
        self._forgotten += 1
        if self._forgotten >= self._capacity:
            self._rebuild_filter()

    def _rebuild_filter(self) -> None:
        # Forgotten probes leave marks behind; cleared now and then, or the filter would let everything through.
        self._filter[:] = False
        self._filter[_slots(np.fromiter(self._owners, np.uint64, len(self._owners)))] = True
        self._forgotten = 0


def _slots(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    return (keys * _SPREAD >> np.uint64(64 - _FILTER_BITS)).astype(np.intp)


def _window_keys(block: Sequence[int]) -> list[int]:
    """Nine windows of a block's cycle; the position symbol, which varies, is masked and its place told by layout."""
    cycle = [*block, 0] * 2
    keys = []
    for start in range(PERIOD):
        layout = min(WINDOW_SYMBOLS, (POSITION - start) % PERIOD)
        key = layout << _LAYOUT_SHIFT
        for i, symbol in enumerate(cycle[start : start + WINDOW_SYMBOLS]):
            key |= symbol << SYMBOL_BITS * i
        keys.append(key)
    return keys
