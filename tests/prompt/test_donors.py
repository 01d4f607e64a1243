"""Fragments of prompts."""

import random

import numpy as np
import pytest

from prober.domain.canary import Canary
from prober.domain.target import TextForm
from prober.prompt.alphabet import WORDS
from prober.prompt.donors import PAIRS, Donor, PairSet, alphabet_words, pairs_of
from prober.prompt.line_code import codes
from tests.support.canary_text import KEYRING, prompt_of

CANARY = Canary.of(5, 0, 55)
FOUR = WORDS[3], WORDS[1000], WORDS[77], WORDS[2047]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("12, 34", []),
        (" ".join(FOUR), [3, 1000, 77, 2047]),
        ("".join(FOUR), [3, 1000, 77, 2047]),
        (f"the {FOUR[0]}, {FOUR[1]}!", [-1, 3, 1000]),
        (f"{FOUR[0]}qqqq {FOUR[1]}", [-1, 1000]),
        (f"{FOUR[0]}{FOUR[1]} x {FOUR[2]}q {FOUR[3]}", [3, 1000, -1, -1, 2047]),
        ("qqqq", [-1]),
    ],
)
def test_alphabet_words(text: str, expected: list[int]):
    """Words are read by number; anything else keeps its place; text without separators falls into its words."""
    assert alphabet_words(text.encode("ascii")).tolist() == expected


def test_alphabet_words_of_long_text():
    """Where a long text is taken apart leaves no trace."""
    rng = random.Random(1)
    chosen = [rng.randrange(2048) for _ in range(200_000)]
    text = "".join(WORDS[n] + rng.choice((" ", ", ", "\n")) for n in chosen)
    assert alphabet_words(text.encode("ascii")).tolist() == chosen
    assert alphabet_words(("".join(WORDS[n] for n in chosen)).encode("ascii")).tolist() == chosen


def test_pairs_are_adjacent_words():
    """Only neighbours that are both of the alphabet make a pair."""
    assert pairs_of(np.array([3, 5, -1, 7, 9, 9], np.int16)).tolist() == [3 * 2048 + 5, 7 * 2048 + 9, 9 * 2048 + 9]


@pytest.mark.parametrize("size", [0, 1, 1000, 200_000, 1_000_000])
def test_pair_sets_hold_what_was_put_in(size: int):
    """Small and large sets answer alike, and no set takes more than half a mebibyte."""
    rng = np.random.default_rng(size)
    pairs = rng.integers(0, PAIRS, size, np.uint32)
    held, asked = PairSet.of(np.array_split(pairs, 7)), rng.integers(0, PAIRS, 5000, np.uint32)
    assert held.count == len(np.unique(pairs))
    assert held.contains(pairs[:5000]).all()
    assert held.contains(asked).tolist() == np.isin(asked, pairs).tolist()
    assert held.sorted_pairs.nbytes + (0 if held.bits is None else held.bits.nbytes) <= 512 * 1024


@pytest.mark.parametrize("lines", [3, 300])
def test_donor_of_numbered_lines(lines: int):
    """A numbered prompt leaves its codes, at most 240, its words and their pairs."""
    donor = Donor.of(prompt_of(CANARY, lines, form=TextForm.NUMBERED_LINES), TextForm.NUMBERED_LINES)
    assert donor.codes == codes(KEYRING, CANARY)[: min(lines, 240)]
    # A group of a code may spell a word by chance.
    assert donor.words.sum() <= 128 + 5
    assert 0 < donor.pairs.count <= 12 * lines


def test_where_a_long_prompt_is_cut_leaves_no_trace():
    """A prompt of megabytes leaves the pairs and words of its whole text, those across any cut included."""
    prompt = prompt_of(CANARY, 5000)
    donor, words = Donor.of(prompt, TextForm.WORD_STREAM), alphabet_words(prompt.text.encode("ascii"))
    pairs = np.unique(pairs_of(words))
    assert donor.pairs.count == len(pairs)
    assert donor.pairs.contains(pairs).all()
    assert np.flatnonzero(donor.words).tolist() == np.unique(words[words >= 0]).tolist()


def test_donor_of_a_word_stream():
    """A word stream leaves no codes, but nearly as many pairs as it has words."""
    donor = Donor.of(prompt_of(CANARY, 40), TextForm.WORD_STREAM)
    assert donor.codes == ()
    assert 630 <= donor.pairs.count <= 639
    assert donor.words.sum() > 400
