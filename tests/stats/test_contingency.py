"""The exact test of two groups."""

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.stats.contingency import excess_p_value, spent_alpha

GROUP = st.integers(0, 40).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


@given(first=GROUP, second=GROUP)
def test_it_is_the_hypergeometric_tail(first: tuple[int, int], second: tuple[int, int]):
    """Equal to the sum in whole fractions."""
    (failures, trials), (other_failures, other_trials) = first, second
    wrong = failures + other_failures
    tail = sum(
        math.comb(trials, count) * math.comb(other_trials, wrong - count)
        for count in range(failures, min(trials, wrong) + 1)
    )
    expected = Fraction(tail, math.comb(trials + other_trials, wrong))

    found = excess_p_value(failures=failures, trials=trials, other_failures=other_failures, other_trials=other_trials)

    assert found == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize(
    ("failures", "trials", "other_failures", "other_trials"), [(2, 1, 0, 1), (-1, 1, 0, 1), (0, 1, 2, 1), (0, 1, -1, 1)]
)
def test_impossible_counts_are_refused(failures: int, trials: int, other_failures: int, other_trials: int):
    """More failures than trials, or fewer than none."""
    with pytest.raises(ValueError, match="no test of"):
        excess_p_value(failures=failures, trials=trials, other_failures=other_failures, other_trials=other_trials)


def test_the_levels_of_all_looks_add_up_to_the_whole():
    """Sharing alpha out never spends more than alpha."""
    spent = sum(spent_alpha(1e-4, look) for look in range(1, 100_000))

    assert 0.9999e-4 < spent < 1e-4


def test_groups_that_are_alike_alarm_within_alpha():
    """Looking at each new failure of 300 trials against 100, at 10 % failures: at most 5 % of 400 runs alarm at 5 %."""
    rng, alarms = random.Random(11), 0
    for _ in range(400):
        other = sum(rng.random() < 0.1 for _ in range(100))
        failures = 0
        for trials in range(1, 301):
            if rng.random() >= 0.1:
                continue
            failures += 1
            p_value = excess_p_value(failures=failures, trials=trials, other_failures=other, other_trials=100)
            if p_value <= spent_alpha(0.05, failures):
                alarms += 1
                break

    assert alarms <= 400 * 0.05
