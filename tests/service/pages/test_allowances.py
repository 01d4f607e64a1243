"""What may still be spent, in words."""

import datetime as dt

import pytest

from prober.domain.budget import Cap, Standing, Unit, Window
from prober.service.pages.allowances import allowance_of, tightest

NOON = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)


def standing(
    limit: int, spent: int, unit: Unit = Unit.TOKENS, target: str | None = None, tenant: str | None = None
) -> Standing:
    cap = Cap(window=Window.DAY, unit=unit, limit=limit, target=target, is_per_tenant=tenant is not None)
    return Standing(cap=cap, tenant=tenant, spent=spent, frees_at=NOON)


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (Unit.TOKENS, "1,500,000 of 2,000,000 tokens left this day"),
        (Unit.REQUESTS, "1,500,000 of 2,000,000 requests left this day"),
        (Unit.MONEY, "1.50 of 2.00 EUR left this day"),
    ],
)
def test_a_cap_is_told_in_its_own_unit(unit: Unit, words: str):
    """Money is counted in millionths."""
    assert allowance_of(standing(2_000_000, 500_000, unit), "EUR").words == words


def test_the_cap_with_least_left_is_told():
    """By share, of those that bound the target."""
    told = tightest(
        [standing(1_000, 100), standing(50, 40, target="staging", tenant="alpha"), standing(10, 10, target="other")],
        "staging",
        "EUR",
    )
    assert told is not None
    assert (told.words, told.tenant, told.is_of_all) == ("10 of 50 tokens left this day", "alpha", False)
    assert tightest([standing(10, 10, target="other")], "staging", "EUR") is None


def test_a_cap_of_nothing_has_nothing_left():
    """No division by it."""
    assert allowance_of(standing(0, 0), "EUR").share == 0.0
