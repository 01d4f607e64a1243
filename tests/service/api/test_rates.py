"""Buckets of callers."""

from hypothesis import given
from hypothesis import strategies as st

from prober.service.api.rates import Rates
from tests.support.ledger import SettableClock


def test_a_minutes_worth_at_once_and_then_steadily():
    """60 a minute: 60 at once, then one each second; a refusal says for how long, and costs nothing."""
    clock = SettableClock()
    rates = Rates(60, clock)
    assert [rates.take("a") for _ in range(60)] == [0.0] * 60
    assert rates.take("a") == 1.0
    clock.advance(0.75)
    assert rates.take("a") == 0.25
    clock.advance(0.25)
    assert rates.take("a") == 0.0
    assert rates.take("a") > 0


def test_callers_do_not_share():
    """Who asks too often keeps nobody else out."""
    rates = Rates(1, SettableClock())
    assert rates.take("a") == 0.0
    assert rates.take("a") > 0
    assert rates.take("b") == 0.0


def test_memory_is_bounded():
    """However many addresses ask, so many are remembered; the one that asked longest ago is forgotten."""
    rates = Rates(1, SettableClock(), most_callers=2)
    for caller in ("a", "b", "a", "c"):
        rates.take(caller)
    assert len(rates._buckets) == 2
    assert rates.take("a") > 0
    assert rates.take("b") == 0.0


@given(st.integers(1, 600), st.lists(st.floats(0, 90), max_size=40))
def test_no_minute_holds_more_than_twice_the_rate(per_minute: int, pauses: list[float]):
    """The bound of a bucket: in any time t at most per_minute x (1 + t / 60) are let in."""
    clock = SettableClock()
    rates = Rates(per_minute, clock)
    begun, taken = clock.monotonic(), 0
    for pause in pauses:
        clock.advance(pause)
        taken += sum(rates.take("a") == 0.0 for _ in range(20))
    assert taken <= per_minute * (1 + (clock.monotonic() - begun) / 60) + 1e-6
