"""The filler alphabet."""

import re

import numpy as np

from prober.prompt.alphabet import BASE_RATES, CELLS, INDEX, WORDS


def gram(word: str) -> int:
    number = 0
    for letter in word:
        number = number * 26 + ord(letter) - ord("a")
    return number


def test_words_are_2048_distinct_ones_of_four_letters():
    """Every symbol of 11 bits has exactly one word."""
    assert len(WORDS) == len(set(WORDS)) == 2048
    assert all(re.fullmatch("[a-z]{4}", word) for word in WORDS)


def test_index_inverts_the_list():
    """Four letters lead back to the word's number, and nothing else is a word."""
    assert [INDEX[gram(word)] for word in WORDS] == list(range(2048))
    assert np.count_nonzero(INDEX >= 0) == 2048


def test_cells_are_the_words_with_a_blank():
    """Rendering needs one look-up per word."""
    assert CELLS.tobytes().decode("ascii") == "".join(f"{word} " for word in WORDS)


def test_base_rates_bound_common_words_and_salad():
    """No word is taken for rarer than in random salad, and everyday words are known to be common."""
    assert BASE_RATES.min() == 1 / 2048
    common = [BASE_RATES[WORDS.index(word)] for word in ("that", "this", "have", "time")]
    assert min(common) > 20 / 2048
    assert np.count_nonzero(BASE_RATES > 1 / 2048) > 500


def test_tables_are_read_only():
    """Shared tables cannot be changed by accident."""
    assert not any(table.flags.writeable for table in (INDEX, CELLS, BASE_RATES))
