"""The prefill floor: what it claims, and that it claims no more than can be known."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.target import PhysicalBound
from prober.stats.prefill import anchored_seconds, floor_for, physical_seconds

GLM_ON_8 = PhysicalBound(active_parameters=4e10, gpus=8, peak_flops_per_gpu=2e15)


def published(tokens: float) -> float:
    """Prefill seconds of Qwen3-235B on 32 H20, fitted to four published sizes within 0.5 %."""
    return 0.48 + 3.02e-5 * tokens + 3.545e-10 * tokens**2


def test_a_floor_is_the_scaled_minimum_less_slack():
    """Nothing else known: 0.4 x ratio x minimum, once the fixed cost is known to be nought."""
    floor = floor_for(681_280, anchors={262_144: (33.0, 32.0, 40.0)}, fixed_seconds=0.0, bound=None)
    assert floor.seconds == pytest.approx(0.4 * 681_280 / 262_144 * 32.0)
    assert floor.anchor_tokens == 262_144


@pytest.mark.parametrize(
    "anchors",
    [{}, {262_144: (33.0, 32.0)}, {681_280: (1.0, 1.0, 1.0)}, {900_000: (1.0, 1.0, 1.0)}],
    ids=["none", "too few timings", "same size", "longer"],
)
def test_nothing_is_claimed_without_enough_timings_of_a_shorter_size(anchors: dict[int, tuple[float, ...]]):
    """Three timings at a smaller size are the least; below the anchors nothing is claimed."""
    assert floor_for(681_280, anchors=anchors, fixed_seconds=0.0, bound=None) is None


def test_the_largest_shorter_size_is_scaled():
    """Small sizes hold mostly fixed cost: scaling them up would accuse an honest target."""
    anchors = {1_000: (0.5, 0.5, 0.5), 170_000: (15.0, 16.0, 17.0), 300_000: (40.0,)}
    floor = floor_for(681_280, anchors=anchors, fixed_seconds=0.5, bound=None)
    assert floor.anchor_tokens == 170_000
    assert floor.seconds == pytest.approx(0.4 * (0.5 + 681_280 / 170_000 * 14.5))


@pytest.mark.no_coverage
@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    fixed=st.floats(0.0, 30.0),
    linear=st.floats(0.0, 1e-4),
    square=st.floats(0.0, 1e-9),
    anchor=st.integers(100, 400_000),
    ratio=st.floats(1.001, 60.0),
    small=st.integers(1, 10_000),
    is_known=st.booleans(),
)
def test_no_honest_prefill_is_faster_than_its_floor(
    fixed: float, linear: float, square: float, anchor: int, ratio: float, small: int, *, is_known: bool
):
    """Whatever the share of fixed cost and the curvature, a noise-free honest timing is above 2.4 x its floor."""

    def honest(tokens: float) -> float:
        return fixed + linear * tokens + square * tokens**2

    tokens = int(anchor * ratio) + 1
    quickest = honest(min(small, anchor)) if is_known else None
    floor = floor_for(tokens, anchors={anchor: (honest(anchor),) * 3}, fixed_seconds=quickest, bound=None)
    assert honest(tokens) >= floor.seconds / 0.4 * (1 - 1e-9)


def test_the_incident_is_far_below_its_floor_even_with_no_small_timing():
    """A skipped prefill of 681,274 tokens takes a second or two; the floor from 170,000 tokens stays above six."""
    timings = (published(170_000),) * 5
    known = floor_for(681_274, anchors={170_000: timings}, fixed_seconds=published(2_000), bound=None)
    unknown = floor_for(681_274, anchors={170_000: timings}, fixed_seconds=None, bound=None)
    assert known.seconds > 24
    assert 6 < unknown.seconds == pytest.approx(0.4 * published(170_000))


def test_the_physical_bound_is_two_operations_per_parameter_and_token():
    """Published floor on 8 GPUs: the linear part at 1,048,576 tokens is 5.2 s; a time scale shortens it."""
    assert physical_seconds(GLM_ON_8, 1_048_576) == pytest.approx(5.243, abs=1e-3)
    scaled = PhysicalBound(active_parameters=4e10, gpus=8, peak_flops_per_gpu=2e15, time_scale=0.01)
    assert physical_seconds(scaled, 1_048_576) == pytest.approx(0.05243, abs=1e-5)


def test_the_higher_floor_wins_and_the_physical_one_stands_alone():
    """Without anchors the physical bound is claimed; with them, whichever is higher."""
    alone = floor_for(681_280, anchors={}, fixed_seconds=None, bound=GLM_ON_8)
    assert (alone.anchor_tokens, alone.seconds) == (None, pytest.approx(3.4064))
    anchored = floor_for(681_280, anchors={262_144: (32.0,) * 3}, fixed_seconds=0.0, bound=GLM_ON_8)
    assert anchored.anchor_tokens == 262_144
    slow_gpu = PhysicalBound(active_parameters=4e10, gpus=1, peak_flops_per_gpu=1e15)
    assert floor_for(681_280, anchors={262_144: (32.0,) * 3}, fixed_seconds=0.0, bound=slow_gpu).anchor_tokens is None


def test_an_overestimated_fixed_cost_is_capped_at_the_anchor():
    """A slow outlier as quickest answer lowers the claim to 0.4 x the anchor and no further."""
    assert anchored_seconds(ratio=4.0, anchor_seconds=10.0, fixed_seconds=99.0) == pytest.approx(4.0)
