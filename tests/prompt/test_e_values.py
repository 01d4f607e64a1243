"""E-values."""

import itertools
import math

import numpy as np
import pytest

from prober.prompt.e_values import draw_bits, match_bits, miss_bits, row_bits


def test_nothing_tried_says_nothing():
    """Without trials the evidence is 0 bits."""
    assert match_bits(np.empty(0, np.bool_), np.empty(0)) == 0.0
    assert draw_bits(np.empty(0)) == 0.0


@pytest.mark.parametrize("chances", [(0.001,), (0.2, 0.2, 0.2), (0.01, 0.5, 0.9), (1.0, 0.3), (0.99, 0.985)])
def test_match_evidence_has_expectation_one_at_most(chances: tuple[float, ...]):
    """Summed over all outcomes with their chances the e-value never exceeds 1, which is what the bound rests on."""
    expectation = 0.0
    for outcome in itertools.product((False, True), repeat=len(chances)):
        probability = math.prod(p if hit else 1 - p for p, hit in zip(chances, outcome, strict=True))
        if probability:
            expectation += probability * 2 ** match_bits(np.array(outcome), np.array(chances))
    assert expectation == pytest.approx(1.0)


@pytest.mark.parametrize("true", [0.0, 0.01, 0.19])
def test_an_overstated_chance_is_safe(true: float):
    """A chance that is only an upper bound keeps the expectation at 1 or below."""
    hit, miss = (2 ** match_bits(np.array([outcome]), np.array([0.2])) for outcome in (True, False))
    assert true * hit + (1 - true) * miss <= 1.0


def test_draw_evidence_has_expectation_one_at_most():
    """Over a distribution of words the e-value of a draw has expectation 1."""
    probabilities = np.array([0.5, 0.3, 0.15, 0.05])
    ratios = np.array([0.0, 0.0, 0.5 / 0.15, 0.5 / 0.05])
    expectation = sum(p * 2 ** draw_bits(np.array([r])) for p, r in zip(probabilities, ratios, strict=True))
    assert expectation == pytest.approx(1.0)


def test_unlikely_matches_weigh_much_and_misses_little():
    """Two matches at one in a million make about 37 bits; misses beside them cost a few."""
    chance = np.full(8, 1e-6)
    both = match_bits(np.array([True, True]), chance[:2])
    mixed = match_bits(np.array([True, True, *[False] * 6]), chance)
    assert 36 < both < 40
    assert both - 8 < mixed < both


def test_certain_matches_weigh_nothing():
    """What matches anyway proves nothing."""
    assert match_bits(np.array([True] * 50), np.full(50, 1.0)) == pytest.approx(0.0)


def test_rows_are_judged_one_by_one():
    """Several comparisons at once have the figures of each, and what is no trial of a row says nothing in it."""
    rng = np.random.default_rng(3)
    matched, is_trial = rng.random((6, 9)) < 0.3, rng.random((6, 9)) < 0.7
    chance = rng.uniform(0.001, 1.0, (6, 9))
    rows = row_bits(matched, chance, is_trial)
    assert rows.tolist() == pytest.approx(
        [match_bits(matched[row][is_trial[row]], chance[row][is_trial[row]]) for row in range(6)]
    )


def test_nothing_but_misses():
    """Misses alone have the figures of so many trials without a match, down to no trial and a chance of 0 or 1."""
    counts, chances = np.array([0, 1, 5, 40, 7]), np.array([0.3, 0.001, 0.2, 0.97, 1.0])
    expected = [match_bits(np.zeros(n, np.bool_), np.full(n, p)) for n, p in zip(counts, chances, strict=True)]
    assert miss_bits(counts, chances).tolist() == pytest.approx(expected)
    assert miss_bits(np.array([3]), np.array([0.0]))[0] < 0
