"""The latest live prompts with their fragments, and which of them an answer's fragments may stem from."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import Canary
from prober.domain.target import TextForm
from prober.prompt.code_scraps import group_chance, group_numbers
from prober.prompt.donors import Donor
from prober.prompt.numbered_lines import slice_number

FRAGMENT_DONORS: Final = 128
"""Latest prompts whose fragments are kept: at most 64 MiB."""

NO_SLICE: Final = -1
_PLACE_BITS: Final = 7
_PLACE_MASK: Final = np.uint32(FRAGMENT_DONORS - 1)
_MOST_INDEXED: Final = 4096
"""Pairs up to which a donor's are indexed together with those of others; a longer prompt is asked by itself."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Roster:
    """All donors held at one time, the oldest first, and what is asked of each; arrays have one item a donor."""

    donors: tuple[Donor, ...]
    rows: Mapping[Canary, int]
    """Where in `donors` a canary's stands."""
    places: npt.NDArray[np.int64]
    tenants: npt.NDArray[np.int64]
    slices: npt.NDArray[np.int64]
    """Vocabulary slice of a donor's numbered lines, -1 for a word stream."""
    pair_counts: npt.NDArray[np.int64]
    group_chances: npt.NDArray[np.float64]
    """`code_scraps.group_chance` of its codes."""

    @classmethod
    def of(cls, held: Mapping[Canary, tuple[int, Donor]]) -> "Roster":
        """Take down who is held, with the place of each."""
        donors = tuple(donor for _, donor in held.values())
        return cls(
            donors=donors,
            rows={canary: row for row, canary in enumerate(held)},
            places=np.array([place for place, _ in held.values()], np.int64),
            tenants=np.array([donor.canary.tenant_number for donor in donors], np.int64),
            slices=np.array([_slice_of(donor) for donor in donors], np.int64),
            pair_counts=np.array([donor.pairs.count for donor in donors], np.int64),
            group_chances=np.array([group_chance(donor.codes) for donor in donors], np.float64),
        )


def _slice_of(donor: Donor) -> int:
    return slice_number(donor.canary.tenant_number) if donor.form is TextForm.NUMBERED_LINES else NO_SLICE


class DonorIndex:
    """At most 128 donors, each in a place (0..127) of its own while it is held; the oldest goes first."""

    def __init__(self) -> None:
        self._held: dict[Canary, tuple[int, Donor]] = {}
        self._free = list(range(FRAGMENT_DONORS))
        self._pairs = _Owners()
        self._groups = _Owners()
        self._long: dict[int, Donor] = {}
        self._roster: Roster | None = None

    def add(self, donor: Donor) -> None:
        """Hold a donor as the newest, instead of any other of its canary."""
        self.remove(donor.canary)
        if not self._free:
            self.remove(next(iter(self._held)))
        place = self._free.pop()
        self._held[donor.canary] = place, donor
        self._roster = None
        self._groups.add(group_numbers(donor.codes), place)
        if donor.pairs.count <= _MOST_INDEXED:
            self._pairs.add(donor.pairs.sorted_pairs, place)
        else:
            self._long[place] = donor

    def remove(self, canary: Canary) -> None:
        """Let go of a donor, if it is held."""
        if canary in self._held:
            place, _ = self._held.pop(canary)
            self._roster = None
            self._free.append(place)
            self._groups.remove(place)
            self._pairs.remove(place)
            self._long.pop(place, None)

    def get(self, canary: Canary) -> Donor | None:
        """Donor of a canary, if it is held."""
        return self._held[canary][1] if canary in self._held else None

    @property
    def roster(self) -> Roster:
        """Who is held now."""
        if self._roster is None:
            self._roster = Roster.of(self._held)
        return self._roster

    def owners_of_pairs(self, pairs: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Which donors hold which pair; shape (donors, pairs), in the roster's order."""
        owners = self._pairs.of(pairs)
        for place, donor in self._long.items():
            owners[place] = donor.pairs.contains(pairs)
        return owners[self.roster.places]

    def owners_of_groups(self, groups: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which donors hold any of the groups of four characters; shape (donors,), in the roster's order."""
        owners = self._groups.of(group_numbers(groups))[self.roster.places]
        some: npt.NDArray[np.bool_] = np.logical_or.reduce(owners, axis=1)
        return some


class _Owners:
    """Who holds a number of at most 25 bits: sorted keys, the number before the place of its owner."""

    def __init__(self) -> None:
        self._keys = np.empty(0, np.uint32)

    def add(self, numbers: npt.NDArray[np.uint32], place: int) -> None:
        """Enter distinct numbers, ascending."""
        keys = numbers << _PLACE_BITS | np.uint32(place)
        self._keys = np.insert(self._keys, np.searchsorted(self._keys, keys), keys)

    def remove(self, place: int) -> None:
        self._keys = self._keys[self._keys & _PLACE_MASK != place]

    def of(self, numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Owners of each number; shape (128, numbers)."""
        firsts = np.searchsorted(self._keys, numbers << _PLACE_BITS)
        counts = np.searchsorted(self._keys, numbers << _PLACE_BITS | _PLACE_MASK, side="right") - firsts
        owners = np.zeros((FRAGMENT_DONORS, len(numbers)), np.bool_)
        columns = np.repeat(np.arange(len(numbers)), counts)
        ranks = np.arange(len(columns)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = self._keys[np.repeat(firsts, counts) + ranks] & _PLACE_MASK
        owners[rows, columns] = True
        return owners
