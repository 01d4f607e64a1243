"""Finding code-shaped places."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.prompt.line_scan import find_codes
from tests.support.plain_scan import plain_codes

CODE = "4KMEHS86ZYKZ2K94"


def spelt(text: str, code: str = CODE) -> tuple[dict[int, str], int]:
    """Read places that spell the code."""
    lower = code.lower().encode("ascii")
    return find_codes(text.lower().encode("ascii"), lambda found: found.decode("ascii") if found == lower else None)


@pytest.mark.parametrize(
    "text",
    [
        "4KME-HS86-ZYKZ-2K94",
        "000001. [ref 4KME-HS86-ZYKZ-2K94] able base acid",
        "code 4KME HS86 ZYKZ 2K94 able",
        "4KME, HS86, ZYKZ, 2K94",
        '["4KME", "HS86", "ZYKZ", "2K94"]',
        "4KME-\nHS86-\nZYKZ-\n2K94",
        "x 4KMEHS86ZYKZ2K94.",
        "4KMEHS86ZYKZ2K94",
        "000001.[ref4KME-HS86-ZYKZ-2K94]ablebase",
        "000001ref4KMEHS86ZYKZ2K94ablebase",
        "[ref 4KME-HS-\n86-ZYKZ-2K94]",
        "with that from this 4KME-HS86-ZYKZ-2K94 with that from this",
    ],
)
def test_shapes_that_are_tried(text: str):
    """Codes are found behind any of the separators, glued together, or broken after `ref`."""
    assert list(spelt(text)[0].values()) == [CODE.lower()]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4KM",
        "4KME-HS86-ZYKZ",
        "4KME-HS86-ZYKZ-2K9",
        "4KME-HS86-ZYKZ-2K94X",
        "X4KME-HS86-ZYKZ-2K94",
        "4KMEHS86ZYKZ2K94X",
        "4KME------HS86-ZYKZ-2K94",
        "a4KMEHS86ZYKZ2K94",
    ],
)
def test_shapes_that_are_not(text: str):
    """Pieces of other lengths are no codes."""
    assert spelt(text)[0] == {}


def test_ordinary_words_are_not_tried():
    """Words of four letters without digits, however many, and references cost no trial."""
    text = "with that from this when they have been over there; the reference reflects refs to prefer referrals " * 50
    assert spelt(text) == ({}, 0)


def test_each_place_is_tried_once():
    """A code of four groups after `ref` counts as one place, and its neighbours as none."""
    text = "000001. [ref 4KME-HS86-ZYKZ-2K94] able base acid\n" * 100
    found, tried = spelt(text)
    assert (len(found), tried) == (100, 100)


def test_digits_are_asked_for():
    """Without the groups' shape a code needs two digits."""
    assert spelt("refABCDEFGHABCDEFG1", "ABCDEFGHABCDEFG1")[0] == {}
    assert len(spelt("refABCDEFGHABCDEF11", "ABCDEFGHABCDEF11")[0]) == 1
    assert spelt(" ABCDEFGHABCDEFG1 ", "ABCDEFGHABCDEFG1")[0] == {}


@pytest.mark.parametrize("text", ["see ref in the long years before 1914 and 1918", "ref (1.2.3)!!!!! 44"])
def test_digits_beyond_the_code_do_not_count(text: str):
    """Digits that stand near `ref`, but not among the sixteen characters after it, cost no trial."""
    assert find_codes(text.encode("ascii"), lambda characters: characters)[1] == 0


@pytest.mark.parametrize("separator", ["", "    "])
def test_digits_may_stand_anywhere_after_ref(separator: str):
    """Two digits are enough wherever they stand among the sixteen characters, and as far apart as these may be."""
    for first, second in itertools.combinations(range(16), 2):
        characters = "".join("7" if place in {first, second} else "k" for place in range(16))
        text = f"see 4 prose; ref{separator}{separator.join(characters)}; prose"
        assert list(spelt(text, characters)[0]) == [16 + len(separator)]


def test_places_near_the_seams_of_chunks():
    """A code is found wherever it lies in a long text."""
    for place in range((1 << 17) - 40, (1 << 17) + 40, 3):
        assert list(spelt("." * place + "4KME-HS86-ZYKZ-2K94" + "." * 30)[0]) == [place]
        assert list(spelt("." * place + CODE + "." * 30)[0]) == [place]


GROUPS = ("4kme", "hs86", "zykz", "2k94")
SCRAPS = (*GROUPS, "ref", "able", "with", "1914", "a1", "0", "333", "x", CODE.lower(), "refer", "-", " ", ", ", " - ")
"""What codes are made of and what stands around them."""
CODES = ("-".join(GROUPS), " ".join(GROUPS), f"ref {CODE.lower()}", "ref4km ehs8 6zyk z2k9 4")


@pytest.mark.no_coverage
@settings(max_examples=250, derandomize=True, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(SCRAPS), st.sampled_from(CODES), st.text("ref12 -.", max_size=12)), max_size=40)
)
def test_the_same_places_as_by_looking_at_all(parts: list[str]):
    """Whatever stands around it, no place is left out and none is tried that has not the shape of a code."""
    text = "".join(parts).encode("ascii")
    code = CODE.lower().encode("ascii")
    for read in (lambda _: None, lambda characters: characters, lambda characters: characters == code or None):
        assert find_codes(text, read) == plain_codes(text, read)


def test_many_groups_are_looked_at_in_portions():
    """Rows of groups are found across the seams of portions."""
    text = b"4kme hs86 with 2k94, ref able 1914. " * 6000
    assert find_codes(text, lambda _: None)[1] == 3 * 6000 - 2
