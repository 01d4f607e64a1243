"""Checks that exclude a leak rate."""

import pytest

from prober.plan.trials import checks_for, missing_checks


@pytest.mark.parametrize(("rate", "checks"), [(0.1, 29), (0.01, 299), (0.003, 998), (0.001, 2_995), (0.0003, 9_985)])
def test_checks_are_those_of_the_published_table(rate: float, checks: int):
    """The numbers are those of detection-science 9.4, for 95 %."""
    assert checks_for(rate) == checks


def test_enough_checks_leave_nothing_to_say():
    """Neither does a scenario of which no rate was asked."""
    assert missing_checks("replay", 0.01, 299) == ()
    assert missing_checks("replay", None, 0) == ()


def test_missing_checks_are_counted_and_the_bound_reached_is_named():
    """A run that ends early says how far it came."""
    (sentence,) = missing_checks("replay", 0.0003, 5_000)
    assert "5,000 of the 9,985" in sentence
    assert "4,985 are missing" in sentence
    assert "rates above 0.06%" in sentence
    assert "0.03%" in sentence


def test_without_a_clean_check_no_rate_is_excluded():
    """Nothing judged, nothing bounded."""
    (sentence,) = missing_checks("replay", 0.5, 0)
    assert "5 are missing, and no rate is excluded" in sentence
