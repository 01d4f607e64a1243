"""From figures to places."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.report.pictures.scale import Scale, decades_around, short

FIGURES = st.floats(min_value=1e-6, max_value=1e9)


@given(FIGURES, FIGURES, FIGURES, st.booleans())
def test_places_lie_within_and_keep_order(low: float, high: float, value: float, is_logarithmic: bool):  # noqa: FBT001
    """Whatever is given, nothing is drawn outside the picture, and more is further."""
    low, high = min(low, high), max(low, high)
    scale = Scale(low=low, high=high, start=10.0, end=90.0, is_logarithmic=is_logarithmic)

    assert 10.0 - 1e-6 <= scale(value) <= 90.0 + 1e-6
    assert scale(value) <= scale(value * 2) + 1e-9


@given(st.floats(0, 1e6), st.floats(1e-3, 1e9), st.integers(2, 12))
def test_ticks_are_few_and_within(low: float, span: float, about: int):
    """An axis is marked by round values of its range, neither one nor dozens."""
    ticks = Scale(low=low, high=low + span, start=0.0, end=1.0).ticks(about)

    assert len(ticks) <= about + 2
    assert all(low - span * 1e-6 <= tick <= (low + span) * (1 + 1e-6) for tick in ticks)


def test_scales_that_have_no_extent_place_all_at_their_start():
    """One value is no range."""
    scale = Scale(low=5.0, high=5.0, start=1.0, end=2.0)

    assert (scale(5.0), scale(7.0), scale.ticks()) == (1.0, 1.0, (5.0,))


@pytest.mark.parametrize(
    ("values", "decades"),
    [([], (1.0, 10.0)), ([0.0, -1.0, math.inf], (1.0, 10.0)), ([0.02, 3.0], (0.01, 10.0)), ([100.0], (100.0, 1_000.0))],
)
def test_decades(values: list[float], decades: tuple[float, float]):
    """Powers of ten hold all that is positive."""
    assert decades_around(values) == pytest.approx(decades)


def test_decades_are_marked():
    """One tick per power of ten, fewer where there are many."""
    assert Scale(low=1.0, high=1_000.0, start=0, end=1, is_logarithmic=True).ticks() == (1.0, 10.0, 100.0, 1_000.0)
    assert len(Scale(low=1e-9, high=1e12, start=0, end=1, is_logarithmic=True).ticks()) <= 10


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.01, "0.01"), (1.0, "1"), (1_500.0, "1,500"), (250_000.0, "250k"), (1e6, "1M"), (2.5e9, "2.5G"), (1e12, "1T")],
)
def test_short(value: float, words: str):
    """Figures on an axis are short."""
    assert short(value) == words
