"""The latest prompts' fragments, looked up together."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.canary import Canary
from prober.domain.target import TextForm
from prober.prompt import donor_index
from prober.prompt.donor_index import FRAGMENT_DONORS, NO_SLICE, DonorIndex
from prober.prompt.donors import PAIRS, Donor
from prober.prompt.numbered_lines import slice_number
from tests.support.canary_text import prompt_of

CROWD = [Canary.of(serial % 40, 0, serial * 7919) for serial in range(FRAGMENT_DONORS + 20)]


def donor_of(canary: Canary, lines: int = 6) -> Donor:
    form = TextForm.NUMBERED_LINES if canary.tenant_number % 2 else TextForm.WORD_STREAM
    return Donor.of(prompt_of(canary, lines, form=form), form)


DONORS = {canary: donor_of(canary) for canary in CROWD}


def holding(donors: Sequence[Donor]) -> DonorIndex:
    index = DonorIndex()
    for donor in donors:
        index.add(donor)
    return index


def agrees(index: DonorIndex, asked: Sequence[Donor], seed: int) -> None:
    """Who holds which of some pairs and groups, by the index and by each donor itself."""
    rng = np.random.default_rng(seed)
    some = [pair for donor in asked for pair in donor.pairs.sorted_pairs[:3].tolist()]
    pairs = np.array([*some, *rng.integers(0, PAIRS, 50).tolist()], np.uint32)
    rng.shuffle(pairs)
    donors = index.roster.donors
    assert index.owners_of_pairs(pairs).tolist() == [donor.pairs.contains(pairs).tolist() for donor in donors]
    groups = [code[at : at + 4] for donor in asked for code in donor.codes[:2] for at in (0, 8)]
    for group in [*groups, "0U0U", "ZZZZ"]:
        expected = [any(group in (code[at : at + 4] for at in (0, 4, 8, 12)) for code in d.codes) for d in donors]
        assert index.owners_of_groups([group]).tolist() == expected


@settings(max_examples=25, derandomize=True, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_owners_are_those_who_hold_it(seed: int):
    """After any adding and removing the index tells of each donor what the donor itself tells."""
    rng = random.Random(seed)
    index, gone = DonorIndex(), []
    for canary in rng.choices(CROWD, k=rng.choice((1, 20, 200))):
        index.add(DONORS[canary])
        if rng.random() < 0.3:
            gone.append(rng.choice(CROWD))
            index.remove(gone[-1])
    agrees(index, [*index.roster.donors[:4], *(DONORS[canary] for canary in gone[-2:])], seed)


@pytest.mark.parametrize("most", [0, 4096])
def test_long_prompts_are_asked_by_themselves(monkeypatch: pytest.MonkeyPatch, most: int):
    """Whether a donor's pairs are indexed or looked up in it makes no difference, nor does letting go of it."""
    monkeypatch.setattr(donor_index, "_MOST_INDEXED", most)
    long = donor_of(Canary.of(2, 0, 5), 400)
    index = holding([*map(DONORS.get, CROWD[:3]), long])
    agrees(index, [long, DONORS[CROWD[0]]], 1)
    index.remove(long.canary)
    agrees(index, [long, DONORS[CROWD[0]]], 1)


def test_the_oldest_goes_first_and_adding_again_renews():
    """At most 128 are held; a prompt that is sent again counts as new."""
    index = holding([DONORS[canary] for canary in (*CROWD[:FRAGMENT_DONORS], CROWD[0], CROWD[-1])])
    assert [donor.canary for donor in index.roster.donors] == [*CROWD[2:FRAGMENT_DONORS], CROWD[0], CROWD[-1]]
    assert index.get(CROWD[1]) is None
    assert index.get(CROWD[-1]) is DONORS[CROWD[-1]]


def test_the_roster_tells_of_each_donor():
    """Its arrays hold one figure a donor, and it follows every change."""
    index = holding([DONORS[CROWD[1]], DONORS[CROWD[2]]])
    roster = index.roster
    assert roster is index.roster
    assert roster.rows == {CROWD[1]: 0, CROWD[2]: 1}
    assert roster.tenants.tolist() == [1, 2]
    assert roster.slices.tolist() == [slice_number(1), NO_SLICE]
    assert roster.pair_counts.tolist() == [DONORS[canary].pairs.count for canary in CROWD[1:3]]
    assert roster.group_chances.tolist() == [6 * 4 / 2**20, 0.0]
    index.remove(CROWD[1])
    assert [donor.canary for donor in index.roster.donors] == [CROWD[2]]


def test_nobody_is_held_at_first():
    """An empty index has no owners."""
    index = DonorIndex()
    assert index.owners_of_pairs(np.array([1, 2], np.uint32)).shape == (0, 2)
    assert index.owners_of_groups(["0000"]).tolist() == []
