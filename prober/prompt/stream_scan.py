"""Finds whose the windows of a word stream are: nine symbols, verified in each of nine rotations."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import EPOCH_BITS
from prober.prompt.alphabet import SYMBOL_BITS, SYMBOLS
from prober.prompt.keyring import Keyring
from prober.prompt.stream_code import IDENTITY_SYMBOLS, PERIOD, tag_numbers
from prober.prompt.stream_symbols import Symbols

_EPOCH_SYMBOL = IDENTITY_SYMBOLS - 1
_SYMBOL_EPOCH = np.arange(SYMBOLS) >> SYMBOL_BITS - EPOCH_BITS
_SAMPLE_STRIDE: Final = 61
"""Every so many windows are tried first; prime to the period, so that all rotations are among them."""
_MANY_WINDOWS: Final = 4096
"""From so many on a sample pays."""
_WINDOWS_AT_ONCE: Final = 1 << 16
"""Windows looked at together, so that intermediate arrays stay in a core's own cache."""


class StreamScan:
    """Identity number and position counter of each window, -1 where no rotation carries its true tag."""

    def __init__(self, symbols: Symbols, starts: npt.NDArray[np.int64], keyring: Keyring) -> None:
        self._data = symbols.data
        self._starts = starts
        self._keyring = keyring
        self.identities = np.full(len(starts), -1, np.int64)
        self.blocks = np.full(len(starts), -1, np.int64)
        known_epochs = np.isin(_SYMBOL_EPOCH, keyring.epochs())
        if len(starts) >= _MANY_WINDOWS:
            self._attempt_what_a_sample_holds(known_epochs)
        self._attempt(self._left(), known_epochs, None)

    def _attempt_what_a_sample_holds(self, known_epochs: npt.NDArray[np.bool_]) -> None:
        """Look for a few canaries before any other: their windows then cost no tag, nor do their wrong rotations."""
        self._attempt(np.arange(0, len(self._starts), _SAMPLE_STRIDE), known_epochs, None)
        seen = np.unique(self.identities[self.identities >= 0])
        seen_epoch_symbols = np.zeros(SYMBOLS, np.bool_)
        seen_epoch_symbols[seen >> SYMBOL_BITS * _EPOCH_SYMBOL] = True
        self._attempt(self._left(), seen_epoch_symbols, seen)

    def _left(self) -> npt.NDArray[np.intp]:
        return np.flatnonzero(self.identities < 0)

    def _attempt(
        self, rows: npt.NDArray[np.intp], epoch_symbols: npt.NDArray[np.bool_], seen: npt.NDArray[np.int64] | None
    ) -> None:
        """Try windows whose epoch symbol is among the accepted ones; where `seen` is given, as one of these only."""
        for first in range(0, len(rows), _WINDOWS_AT_ONCE):
            part = rows[first : first + _WINDOWS_AT_ONCE]
            for likely, at in self._rotations(part, epoch_symbols):
                identity = _packed([self._data[place] for place in at[:IDENTITY_SYMBOLS]])
                chosen = slice(None) if seen is None else np.isin(identity, seen)
                self._verify(likely[chosen], identity[chosen], [place[chosen] for place in at[IDENTITY_SYMBOLS:]])

    def _rotations(
        self, part: npt.NDArray[np.intp], epoch_symbols: npt.NDArray[np.bool_]
    ) -> Iterator[tuple[npt.NDArray[np.intp], list[npt.NDArray[np.int64]]]]:
        """Of each rotation, the windows that may be right, and where their symbols stand, the tenant's first."""
        starts = self._starts[part]
        is_accepted = [epoch_symbols[self._data[starts + i]] for i in range(PERIOD)]
        for rotation in range(PERIOD):
            # The epoch drops 31 of 32 wrong rotations before anything is computed for them.
            likely = np.flatnonzero(is_accepted[(rotation + _EPOCH_SYMBOL) % PERIOD])
            if len(likely):
                at = starts[likely]
                yield part[likely], [at + (rotation + i) % PERIOD for i in range(PERIOD)]

    def _verify(
        self, rows: npt.NDArray[np.intp], identity: npt.NDArray[np.int64], at: list[npt.NDArray[np.int64]]
    ) -> None:
        """Enter those that carry their true tag; `at`: where the symbols of tag and position stand."""
        tag = _packed([self._data[place] for place in at[:-1]])
        right = np.flatnonzero(_true_tags(identity, self._keyring) == tag)
        self.identities[rows[right]] = identity[right]
        self.blocks[rows[right]] = self._data[at[-1][right]]


def _packed(symbols: list[npt.NDArray[np.int16]]) -> npt.NDArray[np.int64]:
    """Symbols as one number, the first one lowest."""
    packed = symbols[-1].astype(np.int64)
    for symbol in symbols[-2::-1]:
        packed <<= SYMBOL_BITS
        packed |= symbol
    return packed


def _true_tags(identity: npt.NDArray[np.int64], keyring: Keyring) -> npt.NDArray[np.int64]:
    if not len(identity):
        return identity
    # Windows of one canary follow each other: of a run of equal identities one is enough.
    heads = np.flatnonzero(np.concatenate(([True], identity[1:] != identity[:-1])))
    distinct, member = np.unique(identity[heads], return_inverse=True)
    tags = np.array(tag_numbers(keyring, distinct.tolist()), np.int64)
    return np.repeat(tags[member], np.diff(heads, append=len(identity)))
