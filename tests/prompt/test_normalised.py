"""Normalisation."""

import unicodedata

import pytest

from prober.prompt.normalised import letters_of, visible_ascii


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
