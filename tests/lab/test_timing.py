import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.lab.timing import Pace, noise_ratio, prefill_seconds


@pytest.mark.parametrize(
    ("tokens", "published"), [(131_072, 10.54), (262_144, 32.68), (524_288, 114.33), (1_048_576, 420.91)]
)
def test_prefill_times_are_the_published_ones(tokens: int, published: float):
    """The prefill law reproduces the four published times within 0.6 %."""
    assert prefill_seconds(tokens) == pytest.approx(published, rel=0.006)


@pytest.mark.parametrize(("quantile", "ratio"), [(0, 0.5), (0.074, 0.9), (0.5, 1), (0.9, 1.24), (0.99, 3), (1, 9.5)])
def test_noise_has_the_measured_quantiles(quantile: float, ratio: float):
    """Full noise has the spread measured on real endpoints."""
    assert noise_ratio(quantile, 1.0) == pytest.approx(ratio)


@given(st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_noise_never_halves_a_duration(quantile: float, amount: float):
    """No draw makes a prefill faster than half its median, nor slower than 9.5 times."""
    assert 0.5 - 1e-9 <= noise_ratio(quantile, amount) <= 9.5 + 1e-9
    assert noise_ratio(quantile, 0.0) == 1.0


def test_draws_are_seeded():
    """The same seed gives the same noise, no noise gives one."""
    draws = [[Pace(1.0, 1.0, seed).draw_ratio() for _ in range(1)] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert Pace(1.0, 0.0, 1).draw_ratio() == 1.0
