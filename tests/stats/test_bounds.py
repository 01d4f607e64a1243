"""Bounds on leak rates against published and closed-form values."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.stats.bounds import clopper_pearson_lower, clopper_pearson_upper, leak_rate_upper95, probes_needed

# rate to exclude: probes for 95 %, 99 %, 99.9 %
NEEDED = {
    0.1: (29, 44, 66),
    0.01: (299, 459, 688),
    0.003: (998, 1_533, 2_300),
    0.001: (2_995, 4_603, 6_905),
    0.0003: (9_985, 15_349, 23_023),
    0.0001: (29_956, 46_050, 69_075),
}


@pytest.mark.parametrize(
    ("rate", "confidence", "probes"),
    [(rate, c, n) for rate, row in NEEDED.items() for c, n in zip((0.95, 0.99, 0.999), row, strict=True)],
)
def test_probes_needed_is_the_published_table(rate: float, confidence: float, probes: int):
    """The smallest count whose all-clean path excludes the rate: one probe fewer does not."""
    assert probes_needed(rate, confidence) == probes
    assert (1 - rate) ** probes <= 1 - confidence < (1 - rate) ** (probes - 1)


@pytest.mark.parametrize(("clean", "bound"), [(1, 0.95), (10, 0.2589), (3000, 9.981e-4)])
def test_the_bound_after_clean_probes_is_the_exact_one(clean: int, bound: float):
    """1 - 0.05**(1/n), close to 3/n for large n."""
    assert leak_rate_upper95(clean) == pytest.approx(bound, rel=1e-3)


def test_the_bound_after_clean_probes_is_clopper_pearsons():
    """With zero events both bounds are one and the same."""
    assert leak_rate_upper95(250) == pytest.approx(clopper_pearson_upper(0, 250), rel=1e-9)


@pytest.mark.parametrize(("events", "published"), [(1, 1.6e-3), (2, 2.1e-3), (3, 2.6e-3)])
def test_the_bound_after_leaks_is_the_published_one(events: int, published: float):
    """Clopper-Pearson for 3,000 probes, 95 % one-sided."""
    assert clopper_pearson_upper(events, 3000) == pytest.approx(published, abs=5e-5)


@pytest.mark.parametrize(("events", "trials", "upper"), [(5, 20, 0.4556), (1, 2, 0.9747), (4, 4, 1.0)])
def test_small_samples_agree_with_closed_forms(events: int, trials: int, upper: float):
    """5 of 20 is in printed tables; 1 of 2 solves 1 - p**2 = 0.05; all of all bounds nothing."""
    assert clopper_pearson_upper(events, trials) == pytest.approx(upper, abs=1e-4)


@settings(max_examples=50, derandomize=True, deadline=None)
@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n - 1), st.just(n))))
def test_the_binomial_tail_at_the_bound_is_the_error_probability(counts: tuple[int, int]):
    """By definition: P(at most k of n) = 0.05 at the bound; checked with exact binomial coefficients."""
    events, trials = counts
    p = clopper_pearson_upper(events, trials)
    log_terms = [
        math.log(math.comb(trials, k)) + k * math.log(p) + (trials - k) * math.log1p(-p) for k in range(events + 1)
    ]
    assert math.fsum(map(math.exp, log_terms)) == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (leak_rate_upper95, (0,)),
        (probes_needed, (0.0, 0.95)),
        (probes_needed, (0.01, 1.0)),
        (leak_rate_upper95, (-1,)),
        (probes_needed, (0.01, 0.95, 0.0)),
        (probes_needed, (0.01, 0.95, 1.1)),
        (clopper_pearson_lower, (4, 3)),
        (clopper_pearson_lower, (-1, 3)),
        (clopper_pearson_upper, (4, 3)),
        (clopper_pearson_upper, (-1, 3)),
        (clopper_pearson_upper, (0, 0)),
        (clopper_pearson_upper, (0, 3, 1.0)),
    ],
)
def test_counts_that_bound_nothing_are_errors(function: Callable[..., object], arguments: tuple[float, ...]):
    """No number may come out of no sample."""
    with pytest.raises(ValueError, match=r"bound|between"):
        function(*arguments)


@pytest.mark.parametrize(("rate", "visibility", "probes"), [(0.001, 0.5, 5_990), (0.01, 0.5, 598), (0.001, 1.0, 2_995)])
def test_leaks_that_seldom_show_take_more_probes(rate: float, visibility: float, probes: int):
    """Needed are n / s: at a visibility of one half, 5,990 clean probes exclude 0.1 %."""
    assert probes_needed(rate, 0.95, visibility) == probes


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.floats(1e-4, 0.5), st.floats(0.01, 1.0))
def test_the_allowance_is_the_same_in_both_directions(rate: float, visibility: float):
    """As many clean probes as are needed bound the rate by what was to be excluded; one fewer does not.

    What is bounded are leaks that show: their rate is the share that is assumed to, of all.
    """
    needed = probes_needed(rate, 0.95, visibility)
    assert leak_rate_upper95(needed) / visibility <= rate * (1 + 1e-9)
    assert needed == 1 or leak_rate_upper95(needed - 1) / visibility > rate * (1 - 1e-9)


@given(st.integers(1, 10**9))
def test_a_bound_never_passes_certainty(clean: int):
    """A rate above 1 means nothing, nor does one of 0: something may always have been missed."""
    assert 0.0 < leak_rate_upper95(clean) < 1.0


@settings(max_examples=50, derandomize=True, deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_the_lower_bound_is_the_mirror_image(counts: tuple[int, int]):
    """By definition: P(at least k of n) = 0.05 at the bound, which lies below the share seen."""
    events, trials = counts
    p = clopper_pearson_lower(events, trials)
    tail = math.fsum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(events, trials + 1))
    assert tail == pytest.approx(0.05, rel=1e-6)
    assert 0.0 < p < events / trials
    assert clopper_pearson_lower(0, trials) == 0.0
