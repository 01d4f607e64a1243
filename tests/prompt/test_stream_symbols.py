"""Finding runs of alphabet words."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.prompt.alphabet import WORDS
from prober.prompt.stream_code import mixing_table
from prober.prompt.stream_symbols import SHORTEST_RUN, symbols_of
from tests.support.canary_text import KEYRING
from tests.support.plain_scan import plain_symbols

TABLE = mixing_table(KEYRING)
NUMBER = {word: number for number, word in enumerate(WORDS)}


def by_definition(letters: str) -> dict[int, int]:
    """Symbols by offset, from runs of seven or more words, straight from the definition."""
    found: dict[int, int] = {}
    for alignment in range(4):
        words = [NUMBER.get(letters[i : i + 4], -1) for i in range(alignment, len(letters) - 3, 4)]
        start = 0
        while start < len(words):
            end = start
            while end < len(words) and words[end] >= 0:
                end += 1
            if end - start >= SHORTEST_RUN:
                for i in range(start, end - 2):
                    symbol = (words[i + 2] - words[i] - int(TABLE[words[i + 1]])) % 2048
                    found[alignment + 4 * i] = symbol
            start = max(end, start + 1)
    return found


def regained(letters: str) -> dict[int, int]:
    symbols = symbols_of(letters.encode("ascii"), TABLE)
    return {int(o): int(d) for o, d in zip(symbols.offsets, symbols.data, strict=True) if d >= 0}


@pytest.mark.no_coverage
@settings(max_examples=150, derandomize=True)
@given(
    st.lists(st.one_of(st.integers(0, 40), st.text("abcdefghijklmnopqrstuvwxyz", max_size=9)), max_size=12),
    st.randoms(),
)
def test_every_run_of_seven_is_read(parts: list[int | str], rng: random.Random):
    """Runs of any length at any place are read exactly as the definition says; shorter ones may or may not be."""
    letters = "".join(p if isinstance(p, str) else "".join(rng.choices(WORDS, k=p)) for p in parts)
    expected, found = by_definition(letters), regained(letters)
    assert expected.items() <= found.items()
    assert len(found) - len(expected) <= 4 * 4


def entries(letters: str) -> list[tuple[int, int]]:
    symbols = symbols_of(letters.encode("ascii"), TABLE)
    return list(zip(symbols.offsets.tolist(), symbols.data.tolist(), strict=True))


@settings(max_examples=150, derandomize=True, deadline=None)
@given(
    st.lists(st.one_of(st.integers(0, 16), st.text("aeblst", max_size=9)), max_size=12),
    st.integers(0, 3),
    st.integers(0, 3),
    st.randoms(),
)
def test_nothing_else_is_read(parts: list[int | str], cut: int, torn: int, rng: random.Random):
    """Shorter runs and what stands around runs are entered exactly as stated: evidence counts all that was tried."""
    letters = "".join(p if isinstance(p, str) else "".join(rng.choices(WORDS, k=p)) for p in parts)
    letters = letters[cut : len(letters) - torn]
    assert entries(letters) == plain_symbols(letters.encode("ascii"), KEYRING)


@pytest.mark.parametrize("words", range(5, 17))
def test_no_place_of_a_row_is_blind(words: int):
    """A run is read alike wherever it begins in rows, at either end of a text too."""
    rng = random.Random(words)
    for shift in range(56):
        run = "".join(rng.choices(WORDS, k=words))
        for letters in ("q" * shift + run, "q" * shift + run + "q" * 40, run + "q" * shift):
            assert entries(letters) == plain_symbols(letters.encode("ascii"), KEYRING)


@pytest.mark.parametrize("letters", ["", "a", "able", "able" * 6, "q" * 500])
def test_nothing_to_read(letters: str):
    """Too short and wordless text gives no window."""
    symbols = symbols_of(letters.encode("ascii"), TABLE)
    assert len(symbols.windows(5)) == 0
    assert not (symbols.data >= 0).any() or len(letters) >= 24


def test_windows_do_not_cross_gaps():
    """A window of symbols never joins two runs."""
    run = "".join(random.Random(1).choices(WORDS, k=8))
    symbols = symbols_of((run + "q" * 40 + run).encode("ascii"), TABLE)
    assert len(symbols.windows(6)) == 2
    assert len(symbols.windows(7)) == 0
    starts = symbols.windows(6)
    assert np.diff(symbols.offsets[starts]).tolist() == [len(run) + 40]
