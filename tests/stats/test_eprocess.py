"""The paired sign test as an e-process."""

import itertools
import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.stats.eprocess import THETAS, sign_e_value

COUNTS = st.integers(0, 400)


def test_the_mixture_is_the_published_one():
    """Success rates .55, .57, ... .99 with equal weights (detection-science 9.3)."""
    assert THETAS[0] == 0.55
    assert THETAS[-1] == 0.99
    assert len(THETAS) == 23
    assert all(math.isclose(b - a, 0.02) for a, b in itertools.pairwise(THETAS))


@given(successes=COUNTS, failures=COUNTS)
def test_it_is_the_mean_of_products(successes: int, failures: int):
    """Equal to the definition, computed in whole fractions of logarithms."""
    logs = [successes * math.log(2 * theta) + failures * math.log(2 * (1 - theta)) for theta in THETAS]
    expected = math.log(sum(math.exp(log - max(logs)) for log in logs) / len(logs)) + max(logs)

    assert math.log(sign_e_value(successes, failures)) == pytest.approx(min(expected, 709.0), abs=1e-6)


@given(successes=COUNTS, failures=COUNTS)
def test_it_is_a_martingale_under_the_null(successes: int, failures: int):
    """The next fair pair leaves the expected evidence as it is: hence valid whenever one looks (Ville 1939)."""
    now = sign_e_value(successes, failures)
    later = (sign_e_value(successes + 1, failures) + sign_e_value(successes, failures + 1)) / 2

    assert later == pytest.approx(now, rel=1e-9)


@pytest.mark.parametrize(("successes", "failures"), [(-1, 0), (0, -1)])
def test_negative_counts_are_refused(successes: int, failures: int):
    """There is no such evidence."""
    with pytest.raises(ValueError, match="no evidence"):
        sign_e_value(successes, failures)


def test_it_starts_at_one_and_is_bounded():
    """No pair is no evidence; a million agreeing ones do not overflow."""
    assert sign_e_value(0, 0) == pytest.approx(1.0)
    assert math.isfinite(sign_e_value(1_000_000, 0))
    assert sign_e_value(0, 1_000_000) == pytest.approx(0.0)


def pairs_to_alarm(rng: random.Random, rate: float, alarm: float, most: int) -> int | None:
    successes = 0
    for pairs in range(1, most + 1):
        successes += rng.random() < rate
        if sign_e_value(successes, pairs - successes) >= alarm:
            return pairs
    return None


@pytest.mark.no_coverage
@pytest.mark.parametrize(("rate", "low", "high"), [(0.70, 150, 240), (0.80, 65, 105), (0.98, 24, 32)])
def test_it_stops_where_published(rate: float, low: int, high: int):
    """Median pairs at alpha 1e-6: 175-205 at AUC .70, 72-97 about .80, the minimum of 24-25 near 1."""
    rng = random.Random(7)

    stops = [pairs_to_alarm(rng, rate, 1e6, 2_000) or 2_000 for _ in range(60)]

    assert low <= statistics.median(stops) <= high


@pytest.mark.no_coverage
def test_fair_coins_cross_within_alpha():
    """Of 400 fair sequences of 400 pairs at most 1 % plus three standard errors ever reach 100."""
    rng = random.Random(3)

    crossed = sum(pairs_to_alarm(rng, 0.5, 100.0, 400) is not None for _ in range(400))

    assert crossed <= 400 * 0.01 + 3 * math.sqrt(400 * 0.01)
