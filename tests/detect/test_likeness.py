"""Likeness of two answers."""

import pytest

from prober.detect.likeness import LIKE, UNLIKE, likeness, may_be_like

SIGNATURE = tuple(range(64))


@pytest.mark.parametrize(("same", "share"), [(64, 1.0), (48, 0.75), (16, 0.25), (0, 0.0)])
def test_likeness_is_the_share_of_equal_values(same: int, share: float):
    """Equal MinHash values estimate the Jaccard similarity (Broder 1997)."""
    other = (*SIGNATURE[:same], *range(100, 164 - same))

    assert likeness(SIGNATURE, other) == likeness(other, SIGNATURE) == share


@pytest.mark.parametrize(("one", "other"), [((), ()), ((), SIGNATURE), (SIGNATURE, ()), (SIGNATURE, SIGNATURE[:8])])
def test_what_is_too_short_to_compare_is_unknown(one: tuple[int, ...], other: tuple[int, ...]):
    """No signature, or one of another kind, is neither like nor unlike."""
    assert likeness(one, other) is None


def test_a_glance_rules_out_only_what_differs_everywhere_in_it():
    """A pair at 0.8 differs in all eight first places once in 390,000 times."""
    assert may_be_like(SIGNATURE, (9, 9, 9, 9, 9, 9, 9, 7, *range(100, 156)))
    assert not may_be_like(SIGNATURE, tuple(range(100, 164)))
    assert (1 - LIKE) ** 8 < 1 / 390_000
    assert UNLIKE < LIKE
