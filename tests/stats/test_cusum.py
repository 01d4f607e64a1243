"""The change detector against its published table."""

import math
import random
import statistics

import pytest

from prober.stats.cusum import Cusum

# honest rate: consecutive failures that alarm at 1e-3, 1e-4, 1e-6
CONSECUTIVE = {0.003: (2, 2, 3), 0.01: (2, 3, 4), 0.05: (3, 4, 5), 0.1: (4, 5, 7), 0.2: (5, 7, 10), 0.3: (7, 9, 13)}


@pytest.mark.parametrize(
    ("honest", "alpha", "failures"),
    [(p, a, n) for p, row in CONSECUTIVE.items() for a, n in zip((1e-3, 1e-4, 1e-6), row, strict=True)],
)
def test_consecutive_failures_to_alarm_are_the_published_ones(honest: float, alpha: float, failures: int):
    """The alarm comes at exactly that many failures in a row, broken rate 0.9."""
    cusum = Cusum(honest_rate=honest, broken_rate=0.9, threshold=math.log(1 / alpha))
    score, count = 0.0, 0
    while not cusum.has_crossed(score):
        score = cusum.fold(score, has_failed=True)
        count += 1
    assert count == failures == cusum.failures_to_alarm


@pytest.mark.parametrize(("honest", "mean", "p95"), [(0.05, 4.5, 6), (0.2, 8.6, 13)])
def test_delay_on_a_broken_target_is_the_published_one(honest: float, mean: float, p95: int):
    """Simulated at a failure rate of 0.9: mean delay and its 95 % quantile as published."""
    cusum = Cusum(honest_rate=honest, broken_rate=0.9, threshold=math.log(1e4))
    rng = random.Random(5)
    delays = []
    for _ in range(4000):
        score, count = 0.0, 0
        while not cusum.has_crossed(score):
            score = cusum.fold(score, has_failed=rng.random() < 0.9)
            count += 1
        delays.append(count)
    assert statistics.fmean(delays) == pytest.approx(mean, abs=0.2)
    assert abs(statistics.quantiles(delays, n=20)[-1] - p95) <= 1


@pytest.mark.no_coverage
def test_healthy_trials_alarm_no_oftener_than_promised():
    """At the honest rate, alarms are at least exp(threshold) trials apart on average."""
    cusum = Cusum(honest_rate=0.05, broken_rate=0.9, threshold=math.log(1e3))
    rng = random.Random(6)
    score, alarms = 0.0, 0
    for _ in range(200_000):
        score = cusum.fold(score, has_failed=rng.random() < 0.05)
        if cusum.has_crossed(score):
            alarms, score = alarms + 1, 0.0
    assert 0 < alarms <= 200


def test_a_success_is_forgotten_at_once():
    """However long all was well before, the alarm needs no more failures than from the start."""
    cusum = Cusum(honest_rate=0.05, broken_rate=0.9, threshold=math.log(1e4))
    score = 0.0
    for _ in range(1000):
        score = cusum.fold(score, has_failed=False)
    for _ in range(3):
        score = cusum.fold(score, has_failed=True)
    assert not cusum.has_crossed(score)
    assert cusum.has_crossed(cusum.fold(score, has_failed=True))


@pytest.mark.parametrize(("honest", "broken", "threshold"), [(0, 0.9, 1), (0.9, 0.5, 1), (0.1, 1, 1), (0.1, 0.9, 0)])
def test_rates_that_tell_nothing_apart_are_errors(honest: float, broken: float, threshold: float):
    """A detector that could not decide cannot be built."""
    with pytest.raises(ValueError, match=r"rise|above"):
        Cusum(honest_rate=honest, broken_rate=broken, threshold=threshold)


def test_a_group_of_trials_adds_up():
    """Passed trials first and failed ones after give the same score as the group, as long as it never falls below 0."""
    cusum = Cusum(honest_rate=0.005, broken_rate=0.05, threshold=5.0)
    score = 9.0
    for has_failed in [False] * 20 + [True] * 3:
        score = cusum.fold(score, has_failed=has_failed)

    assert cusum.fold_group(9.0, failures=3, trials=23) == pytest.approx(score)
    assert cusum.fold_group(-4.0, failures=0, trials=0) == 0.0
