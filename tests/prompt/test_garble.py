"""Signs of corrupted decoding."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.reading import Garble
from prober.prompt import garble
from prober.prompt.garble import LOOKED_AT, garble_of, longest_loop, repeats_opening
from prober.prompt.novelty import words_of


def garbled(content: str, reasoning: str = "") -> Garble:
    return garble_of((content, reasoning), (words_of(content), words_of(reasoning)))


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("", 0),
        ("able acid acts 42 !?", 0),
        ("d\u00e9j\u00e0 vu, stra\u00dfe, \uff41\uff42, \u00b2, \u2014", 0),
        ("\u4e2d\u6587\u3068\u304b\u306a\u3068\u30ab\u30bf\u30ab\u30ca", 1),
        ("\u041f\u0440\u0438\u0432\u0435\u0442 \u4e2d", 2),
        ("\u041f \u4e2d \u0e01 \u05d0 \ud55c", 5),
        ("\u03bc \u00b5 \u2126", 1),
        ("\ud800 \ufffd \U0001f600", 0),
    ],
)
def test_scripts_beyond_latin_are_counted(text: str, scripts: int):
    """Each non-Latin script counts once, those that Japanese mixes as one; marks, digits and signs are no script."""
    assert garbled(text).scripts == scripts


def test_scripts_of_both_channels_are_one_set():
    """A script that stands in content and reasoning counts once."""
    assert garbled("\u041f", "\u041f \u4e2d").scripts == 2


def test_replacement_characters_are_counted():
    """Every U+FFFD of both channels counts."""
    assert garbled("a\ufffdb\ufffd", "\ufffd").replacements == 3


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("", 0),
        ("aa", 0),
        ("aaa", 3),
        ("!!!!!!", 6),
        ("abcabcab", 0),
        ("abcabcabc", 9),
        ("so it goes on on on on on.", len(" on" * 5)),
        ("x" + "the end, " * 7 + "y", 63),
        ("abcdefghijklmnopqrstuvwxyz012345" * 3, 96),
        ("abcdefghijklmnopqrstuvwxyz0123456" * 3, 0),
        ("\U0001f600\U0001f600\U0001f600", 3),
        ("\ud800\ud800\ud800", 3),
        ("able acid acts alum anew", 0),
    ],
)
def test_loops_are_pieces_of_32_characters_three_times(text: str, length: int):
    """The stretch counts from its first to its last character; twice, or longer pieces, are no loop."""
    assert longest_loop(text) == length


LOOP = re.compile(r"(?s)(?=((.{1,32}?)\2{2,}))")


@settings(max_examples=200, derandomize=True)
@given(st.text("ab", max_size=60) | st.text("abc ", max_size=120))
def test_loops_are_those_of_a_naive_search(text: str):
    """All periods are tried at all places: an independent search finds nothing longer and nothing shorter."""

    def stretch(start: int, period: int) -> int:
        end = start + period
        while end < len(text) and text[end] == text[end - period]:
            end += 1
        return end - start if end - start >= 3 * period else 0

    places = itertools.product(range(len(text)), range(1, 33))
    assert longest_loop(text) == max((stretch(start, period) for start, period in places), default=0)


def test_long_texts_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch):
    """Where a text is too long for all periods at once, nothing is lost."""
    text = "q" * 5 + "abcdefghijklmnopqrstuvwxyz01234" * 4 + "z" * 20
    assert longest_loop(text) == 124
    monkeypatch.setattr(garble, "_COMPARED_AT_ONCE", 1)
    assert longest_loop(text) == 124


@pytest.mark.parametrize(
    ("text", "doubled", "repeated"),
    [
        ("", 0, 0),
        ("able acid", 0, 0),
        ("able able acid", 1, 1),
        ("Able, able acid ACID. arch arch", 3, 3),
        pytest.param("able able able acid acid", 1, 3, id="three in a row are a loop"),
        pytest.param(
            "able able acid arch able able acid arch able able", 1, 3, id="the same again and again is a loop"
        ),
        pytest.param("the " * 60, 0, 59, id="a weak LLM's loop"),
    ],
)
def test_doubled_words(text: str, doubled: int, repeated: int):
    """Doublings are told from what a loop repeats; repeats count all words that equal the one before, in any case."""
    assert (garbled(text).doubled_words, garbled(text).repeated_words) == (doubled, repeated)


OPENING = "The lantern phrase is able acid acts and "


@pytest.mark.parametrize(
    ("content", "repeats"),
    [
        ("", False),
        (OPENING, False),
        (OPENING + "more", False),
        (OPENING + "then. " + OPENING, True),
        (OPENING * 2, True),
        (OPENING + "then. " + OPENING + "so on", True),
        (OPENING * 3, False),
        ("on and " * 30, False),
        (OPENING + "then. " + OPENING[:39], False),
        (OPENING[:20] * 2, False),
    ],
)
def test_an_answer_that_begins_anew(content: str, *, repeats: bool):
    """Its first 40 characters come again; an answer that merely loops does not begin anew."""
    assert repeats_opening(content) is repeats


def test_a_text_without_end_is_looked_at_to_a_bound():
    """Four million characters cost what 65,536 cost, and a loop is no longer than what was looked at."""
    assert longest_loop("x" * (1 << 22)) == LOOKED_AT
