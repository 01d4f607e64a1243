"""Torn line codes."""

import random

import pytest

from prober.domain.canary import Canary
from prober.prompt.code_scraps import _aligned, _weight, code_bits, group_chance, group_numbers, groups_of, scraps_of
from prober.prompt.keyring import Keyring
from prober.prompt.line_code import codes

DONOR = ("5MWV8BJJ39PK7PXN", "KMEHS86ZYKZ2K94H", "AAAA97BS99B6GEN5")


def scored(text: str, donor: tuple[str, ...] = DONOR, own: tuple[str, ...] = ()) -> tuple[int, float]:
    return code_bits(scraps_of(text.lower().encode("ascii"), own), donor)


@pytest.mark.parametrize(
    ("text", "groups", "least", "most"),
    [
        ("1] Rain is expected.\n2. [access code CNRY-KMEH-S86Z-YKZ-YZZ..", 2, 40, 60),
        ("-39PK-7PXN-H5ZB-XB-XB..", 2, 28, 45),
        ("2. [access code CNRY-5MWV-8BJJJ..", 2, 15, 45),
        ("s86z", 1, 10, 18),
        ("KMEHS86ZYKZ2K94H", 4, 60, 90),
        ("S86Z S86Z S86Z", 1, 10, 18),
        ("KMEH-YKZ2", 1, 8, 18),
        ("1 KMEH", 0, 0, 0),
        ("in 2023 with 1024 of this", 0, 0, 0),
        ("", 0, 0, 0),
        ("X86Z-A7B8", 0, -3, 0),
        ("-S86Z-AAAA97BS", 3, 40, 60),
    ],
)
def test_scraps_of_real_leaks(text: str, groups: int, least: float, most: float):
    """Groups in the right order weigh as much as they are unlikely; words, years and strange groups nothing."""
    found, bits = scored(text)
    assert found == groups
    assert least <= bits <= most


def test_order_counts():
    """The same two groups weigh more as neighbours of one code than strewn about."""
    donor = codes(Keyring.create(bytes(32)), Canary.of(1, 0, 1))
    code = next(c for c in donor if all(any(x.isdigit() for x in c[i : i + 4]) for i in (4, 8)))
    assert scored(f"{code[4:8]}-{code[8:12]}", donor)[1] > scored(f"{code[8:12]}-{code[4:8]}", donor)[1] + 5


def test_own_groups_count_nothing():
    """What stands in the own prompt starts no comparison."""
    assert scored("S86Z-YKZ2-K94H", own=("KMEHS86ZYKZ2K94H",)) == (0, 0.0)


def test_no_codes_no_evidence():
    """A donor without lines has nothing to match."""
    assert scored("S86Z-YKZ2", donor=()) == (0, 0.0)


def test_weights_of_extensions_sum_to_one_at_most():
    """Over all outcomes of going on to the left and right the weights make a probability at most."""
    for most_left in range(13):
        most_right = 12 - most_left
        total = sum(_weight(i, j, most_left, most_right) for i in range(most_left + 1) for j in range(most_right + 1))
        assert total <= 1 + 1e-9


@pytest.mark.no_coverage
def test_false_attribution_stays_below_its_bound():
    """Over random keys, the codes of one fixed donor reach b bits on a strange text no oftener than 2**-b."""
    text = b"ref a1b2-c3d4-e5f6 s86z 7kq2 9xxn-3d2a 1a2b x9y8 k2k2 p0q9 r7s6 t5v4 w3x2"
    rng = random.Random(6)
    trials, bits = 150, []
    scraps = scraps_of(text, ())
    for _ in range(trials):
        keyring = Keyring.create(rng.randbytes(32))
        bits.append(code_bits(scraps, codes(keyring, Canary.of(1, 0, rng.randrange(2**28))))[1])
    for bound in (1, 2, 3, 4):
        expected = 2.0**-bound
        assert sum(b >= bound for b in bits) / trials <= expected + 3 * (expected / trials) ** 0.5


def test_groups_are_numbers():
    """Each distinct group of base32 characters has one number of 20 bits; groups with other characters have none."""
    numbers = group_numbers(DONOR)
    assert numbers.tolist() == sorted({base32(code[at : at + 4]) for code in DONOR for at in range(0, 16, 4)})
    assert group_numbers(["0000", "ZZZZ", "000U"]).tolist() == [0, 2**20 - 1]
    assert group_numbers([]).tolist() == []


def base32(group: str) -> int:
    value = 0
    for character in group:
        value = value * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(character)
    return value


def test_groups_that_start_a_comparison():
    """They are read as the prober writes them, own ones left out."""
    scraps = scraps_of(b"s86z-ykz2 kmeh 2023 5mwv", ("KMEHS86ZYKZ2K94H",))
    assert groups_of(scraps) == ["5MWV"]
    assert group_chance(DONOR) == 12 / 2**20


@pytest.mark.parametrize(
    ("joined", "at"), [("abcdefgh", 4), ("xefghxxxefgh", 8), ("xefgh", -1), ("xefghefghxxx", -1), ("", -1)]
)
def test_a_group_is_looked_for_where_groups_begin(joined: str, at: int):
    """What reads like one across two groups is none."""
    assert _aligned(joined, "efgh") == at
