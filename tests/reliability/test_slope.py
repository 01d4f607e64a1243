"""A leak is told from noise."""

import random

import pytest

from reliability.slope import BLOCKS, slope_of

RUNS = [number * 0.02 for number in range(250)]
"""Thousands of runs."""


def resident(leak: float, seed: int) -> list[float]:
    """KiB: 140 MiB, a noise of megabytes that wanders, and so much more for each thousand runs."""
    dice, wander = random.Random(seed), 0.0
    levels = []
    for runs in RUNS:
        wander = 0.5 * wander + dice.gauss(0, 1_000)
        levels.append(143_360 + leak * runs + wander)
    return levels


def test_a_leak_is_seen_and_its_size_told():
    """Growth of 1 KiB per run, in noise of a megabyte: the whole interval lies above zero and holds the truth."""
    for seed in range(20):
        slope = slope_of(RUNS, resident(leak=1_024, seed=seed))
        assert slope.low > 0
        assert slope.low < slope.value < slope.high


def test_noise_is_no_leak():
    """Without growth the interval's lower end is above zero no more often than its confidence allows."""
    alarms = sum(slope_of(RUNS, resident(leak=0, seed=seed)).low > 0 for seed in range(200))

    assert alarms <= 200 * 0.025 * 3


def test_an_exact_line_has_an_exact_slope():
    """Without noise the interval is a point."""
    slope = slope_of(RUNS, [3 * runs + 7 for runs in RUNS])

    assert (slope.low, slope.value, slope.high) == pytest.approx((3, 3, 3))


def test_too_few_samples_have_no_slope():
    """Fewer samples than blocks are refused rather than fitted."""
    with pytest.raises(ValueError, match="samples"):
        slope_of(RUNS[: BLOCKS - 1], RUNS[: BLOCKS - 1])
