"""Normalisation."""

import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.prompt.normalised import _disguises, _is_disguise, letters_of, visible_ascii
from tests.support.plain_scan import plain_letters, plain_visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", b""),
        ("Able BASE", b"able base"),
        ("a\u200db\u00adc\ufeff", b"abc"),
        ("\uff21\uff22\uff23", b"abc"),
        ("\U0001d400\U0001d41b", b"ab"),
        ("\ufb01sh", b"fish"),
        ("able\u2014base\u00e9", b"able?base?"),
        (r"able\nbase\u200dacid\"", b'able base acid\\"'),
        ("K\u017f", b"ks"),
        ("able&nbsp;base&#97;&#x63;id &amp; AT&T", b"able?baseacid & at&t"),
    ],
)
def test_visible_ascii(text: str, expected: bytes):
    """Case, invisible and look-alike characters vanish, escapes are blanks, anything else foreign is one mark."""
    assert visible_ascii(text) == expected


def test_every_lookalike_of_a_letter_is_read():
    """No character that Unicode holds compatible with a letter is lost, wherever it stands in Unicode."""
    for number in range(0x80, 0x110000):
        if 0xD800 <= number < 0xE000:
            continue
        plain = unicodedata.normalize("NFKC", chr(number)).lower()
        if plain.isascii() and plain.isalpha():
            assert visible_ascii(chr(number)) == plain.encode("ascii")


def test_lone_surrogates_do_no_harm():
    """What a broken decoder upstream left behind is data, not an exception."""
    assert visible_ascii("able\ud800base") == b"able?base"


def test_letters_of():
    """Only letters stay."""
    assert letters_of(b"12. able-ba\nse, {acid}") == b"ablebaseacid"


SIGNS = (
    *("\\", "\\n", "\\u00e9", "\\u12", "&", "&amp;", "&lt", "&#97;", "&#x63;", "&notit;", "&#92;", "&#8203;", ";"),
    *(" ", "\n", "ab", "7", "\u200b", "\u201c", "\u2026", "\u00e9", "\uff21", "\U0001d400", "\U0001f600", "\ud800"),
    *("\udc00", "\u00bd", "\ufb01", "\u212a", "\x00", "\x80", "\u4e2d", "\U00020000"),
)
"""What is read as something else, parts of it, and characters of every width that Python stores."""


@pytest.mark.no_coverage
@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.lists(st.sampled_from(SIGNS), max_size=40), st.integers(0, 1), st.randoms())
def test_the_same_as_by_one_character_after_the_other(signs: list[str], far: int, rng: random.Random):
    """Signs next to each other and far from each other are read by the same rules."""
    text = "".join(sign + "base acid"[: rng.randrange(10)] * rng.randrange(1 + 60 * far) for sign in signs)
    assert visible_ascii(text) == plain_visible(text)
    assert letters_of(visible_ascii(text)) == plain_letters(plain_visible(text))


@pytest.mark.parametrize("filling", ["q ", "\u201cq\u201d "])
@pytest.mark.parametrize("sign", ["\\u00e9", "&amp;", "&#8203;", "\u200b", "\uff21", "\U0001f600"])
def test_signs_near_the_seams_of_stretches(filling: str, sign: str):
    """A sign is read alike wherever it lies in a long text."""
    for place in range((1 << 16) - 8, (1 << 16) + 3):
        text = (filling * (1 << 16))[:place] + sign + filling * 200
        assert visible_ascii(text) == plain_visible(text)


def test_the_tables_of_disguises_agree_however_often_they_are_made():
    """They are made once in a process, by whoever is first: anew they are the same, and know every disguise."""
    table, flags = _disguises.__wrapped__(), _is_disguise.__wrapped__()
    assert table == _disguises()
    assert (flags == _is_disguise()).all()
    assert flags.sum() == len(table)
    assert table["\u200b"] == ""
    assert table["\uff21"] == "A"
