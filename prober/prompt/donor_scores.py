"""How well each donor explains an answer's word pairs and code groups: only those that share one are looked at."""

from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import Canary
from prober.prompt.alphabet import SYMBOLS
from prober.prompt.code_scraps import Scraps, code_bits, groups_of
from prober.prompt.donor_index import NO_SLICE
from prober.prompt.donors import PAIRS
from prober.prompt.e_values import miss_bits, row_bits
from prober.prompt.live import LiveIndex
from prober.prompt.numbered_lines import SLICE_WORDS

_NEIGHBOUR_MARGIN: Final = 2
"""A matched pair stands in its donor once or, seldom, a few times: each place grants its neighbours one chance."""
_TRIALS_AT_ONCE: Final = 1 << 15
"""Pairs times donors looked at together, so that intermediate arrays stay below some megabytes."""
_NOBODY: Final = -1


class Scores:
    """Figures of all donors but one, in the roster's order: groups and pairs that matched, and bits of evidence.

    A donor that shares nothing with the answer has the bits of nothing but misses, which need no look at it.
    """

    def __init__(self, pairs: npt.NDArray[np.uint32], scraps: Scraps, live: LiveIndex, left_out: Canary) -> None:
        self._live = live
        self._roster = live.fragments.roster
        self.pairs = np.zeros(len(self._roster.donors), np.int64)
        self.groups = np.zeros(len(self.pairs), np.int64)
        self.bits = np.zeros(len(self.pairs))
        if len(pairs):
            self._score_pairs(pairs)
        if scraps.places:
            self._score_groups(scraps)
        self._tenants = self._roster.tenants.copy()
        if left_out in self._roster.rows:
            self._tenants[self._roster.rows[left_out]] = _NOBODY
        self.donors = int(np.count_nonzero(self._tenants != _NOBODY))
        """How many were compared."""
        self.is_matched: npt.NDArray[np.bool_] = ((self.pairs > 0) | (self.groups > 0)) & (self._tenants != _NOBODY)

    def matched_tenants(self) -> set[int]:
        """Tenants with a donor that shares something with the answer."""
        return set(self._tenants[self.is_matched].tolist())

    def best_of(self, tenant: int) -> tuple[int, float]:
        """A tenant's strongest donor, the oldest of equals, and the bits of its next one; 0 where there is none."""
        mine = np.flatnonzero(self._tenants == tenant)
        best = mine[np.argmax(self.bits[mine])]
        return int(best), float(np.max(self.bits[mine[mine != best]])) if len(mine) > 1 else 0.0

    def canary_of(self, row: int) -> Canary:
        """Whose figures stand there."""
        return self._roster.donors[row].canary

    def _score_pairs(self, pairs: npt.NDArray[np.uint32]) -> None:
        slices = self._roster.slices[:, None]
        # Words of numbered lines all come from one slice, so only pairs within it tell anything, and less.
        is_trial = (slices == NO_SLICE) | (slices == self._slices_of(pairs))
        choices, next_words = (
            np.where(self._roster.slices == NO_SLICE, stream, lines)
            for stream, lines in ((PAIRS, SLICE_WORDS**2), (SYMBOLS, SLICE_WORDS))
        )
        chance = np.minimum(1.0, self._roster.pair_counts / choices)
        matched = self._live.fragments.owners_of_pairs(pairs) & is_trial
        self.pairs = np.count_nonzero(matched, axis=1)
        pair_bits = miss_bits(np.count_nonzero(is_trial, axis=1), chance)
        found = np.flatnonzero(self.pairs)
        step = max(1, _TRIALS_AT_ONCE // len(pairs))
        for rows in (found[start : start + step] for start in range(0, len(found), step)):
            granted = _matched_neighbours(pairs, matched[rows]) * (_NEIGHBOUR_MARGIN / next_words[rows, None])
            chances = np.minimum(1.0, chance[rows, None] + granted)
            pair_bits[rows] = row_bits(matched[rows], chances, is_trial[rows])
        self.bits += pair_bits

    def _slices_of(self, pairs: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
        """Slice that both words of a pair belong to; one that there is not where they belong to two."""
        slices = self._live.word_slices().astype(np.int64)
        first, second = slices[pairs // SYMBOLS], slices[pairs % SYMBOLS]
        return np.where(first == second, first, SYMBOLS)

    def _score_groups(self, scraps: Scraps) -> None:
        chance = self._roster.group_chances
        group_bits = np.where(chance > 0, miss_bits(np.full(len(chance), len(scraps.places)), chance), 0.0)
        for row in np.flatnonzero(self._live.fragments.owners_of_groups(groups_of(scraps))).tolist():
            self.groups[row], group_bits[row] = code_bits(scraps, self._roster.donors[row].codes)
        self.bits += group_bits


def _matched_neighbours(pairs: npt.NDArray[np.uint32], matched: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Sides (0..2) on which a pair goes on from an earlier matched one: they may share a place in the donor.

    Shape (donors, pairs), like `matched`.
    """
    first, second = pairs // SYMBOLS, pairs % SYMBOLS
    order = np.arange(len(pairs))
    ends_in, begins_with = np.full((2, len(matched), SYMBOLS), len(pairs))
    rows, columns = np.nonzero(matched)
    np.minimum.at(ends_in, (rows, second[columns]), columns)
    np.minimum.at(begins_with, (rows, first[columns]), columns)
    sides: npt.NDArray[np.int64] = (ends_in[:, first] < order).astype(np.int64) + (begins_with[:, second] < order)
    return sides
