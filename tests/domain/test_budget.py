"""Caps, prices, and what people read about them."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.budget import Cap, Expense, Price, Shortage, Standing, Unit, Window, money_words
from prober.domain.verdict import Spending

NOON = dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC)
counts = st.integers(0, 10**12)
spendings = st.builds(Spending, requests=counts, prompt_tokens=counts, output_tokens=counts)


def a_shortage(unit: Unit = Unit.TOKENS, *, limit: int = 1_000, spent: int = 900, wanted: int = 200) -> Shortage:
    cap = Cap(window=Window.DAY, unit=unit, limit=limit, target="glm", is_per_tenant=True)
    frees_at = NOON + dt.timedelta(hours=12)
    return Shortage(standing=Standing(cap=cap, tenant="alpha", spent=spent, frees_at=frees_at), wanted=wanted)


def test_a_shortage_says_which_cap_how_much_is_left_and_when_it_frees_up():
    """An operator reads in one sentence what to raise or how long to wait."""
    assert str(a_shortage()) == (
        "the cap of 1,000 tokens per day for tenant alpha on target glm: 100 left, up to 200 needed; "
        "it frees up at 2026-12-02 00:00 UTC"
    )


def test_what_no_window_can_hold_is_told_as_that():
    """Waiting does not help against a cap that is smaller than the call: no time is named."""
    assert str(a_shortage(wanted=1_001)).endswith("up to 1,001 needed; the cap is too small for it at any time")


def test_money_is_told_in_units_of_the_currency():
    """Millionths are for adding, not for reading; and a cap lowered below what is spent leaves nothing, not less."""
    text = str(a_shortage(Unit.MONEY, limit=2_500_000, spent=3_000_000, wanted=5_000))
    assert "the cap of 2.50 money per day" in text
    assert "0.00 left, up to 0.005 needed" in text


def test_a_cap_on_everything_names_everything():
    """Caps of all tenants, or of all targets, say so."""
    cap = Cap(window=Window.HOUR, unit=Unit.REQUESTS, limit=5)
    told = str(Shortage(standing=Standing(cap=cap, tenant=None, spent=5, frees_at=NOON), wanted=1))
    assert told.startswith("the cap of 5 requests per hour for all targets: 0 left")


@pytest.mark.parametrize(
    ("price", "spending", "micros"),
    [
        (Price(prompt=0.6, output=2.2), Spending(prompt_tokens=1_000_000, output_tokens=1_000_000), 2_800_000),
        (Price(prompt=0.1), Spending(prompt_tokens=3), 1),
        (Price(prompt=0.1), Spending(prompt_tokens=30), 3),
        (Price(), Spending(requests=9, prompt_tokens=10**9), 0),
    ],
)
def test_money_is_tokens_by_price_rounded_up(price: Price, spending: Spending, micros: int):
    """A million tokens cost the price; the noise of fractions makes no cent, and a real fraction counts as a whole."""
    assert price.expense(spending) == Expense(spending=spending, micros=micros)


@given(spendings, spendings)
def test_split_bills_are_never_cheaper(one: Spending, other: Spending):
    """Rounding works against the spender: calls booked one by one cost at least what they cost together."""
    price = Price(prompt=0.123456, output=7.89)
    apart = price.expense(one) + price.expense(other)
    assert apart.spending == one + other
    assert apart.micros >= price.expense(one + other).micros
    assert apart.of(Unit.TOKENS) == (one + other).tokens
    assert apart.of(Unit.REQUESTS) == one.requests + other.requests
    assert apart.of(Unit.MONEY) == apart.micros


@pytest.mark.parametrize(
    ("micros", "words"),
    [(0, "0.00"), (100_000, "0.10"), (1_234_567_890, "1,234.57"), (99_999, "0.099999"), (1, "0.000001")],
)
def test_money_reads_like_money(micros: int, words: str):
    """Cents for amounts that have them; small change is not rounded to nothing."""
    assert money_words(micros) == words
