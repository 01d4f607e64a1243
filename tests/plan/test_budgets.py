"""Caps against what was spent, hour by hour."""

import dataclasses
import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.budget import Cap, Expense, Unit, Window
from prober.domain.verdict import Spending
from prober.plan.budgets import MOST_AHEAD, Entry, begin, hour_of, shortages, standings

NOON = dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)
HOURLY = Cap(window=Window.HOUR, unit=Unit.TOKENS, limit=1_000, target="glm")
DAILY = dataclasses.replace(HOURLY, window=Window.DAY)


def tokens(count: int, requests: int = 1) -> Expense:
    return Expense(spending=Spending(requests=requests, prompt_tokens=count), micros=2 * count)


def an_entry(count: int, hour: dt.datetime = NOON, tenant: str = "alpha", target: str = "glm") -> Entry:
    return Entry(target=target, tenant=tenant, hour=hour, expense=tokens(count))


def is_within(cap: Cap, entries: list[Entry], wanted: int, now: dt.datetime, tenant: str = "alpha") -> bool:
    return not shortages([cap], entries, "glm", {tenant: tokens(wanted)}, now)


def test_the_last_token_of_a_cap_may_be_spent_and_no_further_one():
    """A cap is reached exactly, never passed."""
    assert is_within(HOURLY, [an_entry(900)], 100, NOON)
    assert not is_within(HOURLY, [an_entry(900)], 101, NOON)


@pytest.mark.parametrize(("cap", "length"), [(HOURLY, HOUR), (DAILY, 24 * HOUR)])
def test_a_window_frees_up_at_its_border_and_not_a_moment_before(cap: Cap, length: dt.timedelta):
    """Windows are the calendar's: on the hour, and at midnight UTC, all of the cap is there again."""
    start = begin(cap.window, NOON)
    full = [an_entry(1_000, start)]
    just_before = start + length - dt.timedelta(microseconds=1)

    (short,) = shortages([cap], full, "glm", {"alpha": tokens(1)}, just_before)

    assert short.standing.frees_at == start + length
    assert is_within(cap, full, 1_000, short.standing.frees_at)


def test_a_days_cap_counts_all_of_its_hours():
    """Each hour for itself may be within bounds."""
    entries = [an_entry(400, NOON - n * HOUR) for n in range(3)]
    assert not is_within(DAILY, entries, 1, NOON)
    assert is_within(HOURLY, entries, 600, NOON)


@pytest.mark.parametrize("now", [NOON - dt.timedelta(minutes=30), NOON.replace(hour=0) - dt.timedelta(minutes=30)])
@pytest.mark.parametrize("cap", [HOURLY, DAILY])
def test_a_clock_that_is_stepped_back_an_hour_opens_nothing(cap: Cap, now: dt.datetime):
    """What was spent before the step lies ahead of the clock then, and counts: across the hour, and across midnight."""
    spent_at = hour_of(now + HOUR)
    entries = [an_entry(1_000, spent_at)]

    (short,) = shortages([cap], entries, "glm", {"alpha": tokens(1)}, now)

    assert short.standing.frees_at > spent_at
    assert is_within(cap, entries, 1, short.standing.frees_at)


def test_what_was_noted_under_a_clock_far_ahead_closes_no_budget():
    """A machine that thought it was 2031 must not stop probing until then."""
    assert is_within(DAILY, [an_entry(1_000, NOON + MOST_AHEAD + HOUR)], 1_000, NOON)


def test_a_tenants_cap_is_its_own():
    """One tenant's spending closes nothing for the other; a wave of both is held to each one's."""
    cap = dataclasses.replace(HOURLY, is_per_tenant=True)
    entries = [an_entry(950)]
    assert is_within(cap, entries, 1_000, NOON, tenant="bravo")
    (short,) = shortages([cap], entries, "glm", {"bravo": tokens(1_000), "alpha": tokens(51)}, NOON)
    assert (short.standing.tenant, short.standing.left, short.wanted) == ("alpha", 50, 51)


def test_a_wave_of_several_tenants_is_summed_for_a_cap_of_all():
    """Halves that fit alone do not fit together."""
    (short,) = shortages([HOURLY], [], "glm", {"alpha": tokens(501), "bravo": tokens(500)}, NOON)
    assert (short.wanted, short.standing.left) == (1_001, 1_000)


def test_targets_share_what_is_capped_for_all_and_nothing_else():
    """Another target's spending counts towards caps of all targets only, and its caps bind its own calls only."""
    overall = dataclasses.replace(HOURLY, target=None)
    other = dataclasses.replace(HOURLY, target="kimi", limit=1)
    entries = [an_entry(900, target="kimi")]
    assert is_within(HOURLY, entries, 1_000, NOON)
    assert is_within(other, entries, 1_000, NOON)
    assert not is_within(overall, entries, 101, NOON)


def test_the_cap_that_frees_up_last_is_named_first():
    """Waiting for the earlier one would be in vain."""
    entries = [an_entry(1_000)]
    found = shortages([HOURLY, DAILY], entries, "glm", {"alpha": tokens(1)}, NOON)
    assert [short.standing.cap.window for short in found] == [Window.DAY, Window.HOUR]


def test_requests_and_money_have_caps_of_their_own():
    """Each unit is counted by itself; what is free of charge passes no cap on money, however full that is."""
    by_request = dataclasses.replace(HOURLY, unit=Unit.REQUESTS, limit=2)
    by_money = dataclasses.replace(HOURLY, unit=Unit.MONEY, limit=20)
    assert not is_within(by_request, [an_entry(1), an_entry(1)], 1, NOON)
    assert is_within(by_money, [an_entry(5)], 5, NOON)
    assert not is_within(by_money, [an_entry(5)], 6, NOON)
    assert not shortages([by_money], [an_entry(100)], "glm", {"alpha": Expense(spending=Spending(requests=1))}, NOON)


def test_standings_name_every_tenant_once():
    """A cap per tenant over all targets has one standing per name, whatever number of targets it is on."""
    cap = dataclasses.replace(HOURLY, target=None, is_per_tenant=True)
    names = {"glm": ["alpha", "bravo"], "kimi": ["alpha"]}
    entries = [an_entry(10), an_entry(20, target="kimi"), an_entry(1, tenant="bravo")]
    shown = standings([cap, HOURLY], entries, names, NOON)
    assert [(each.tenant, each.spent) for each in shown] == [("alpha", 30), ("bravo", 1), (None, 11)]


def test_windows_begin_in_utc_whatever_the_zone_of_a_date():
    """A date of another zone is the same moment."""
    berlin = NOON.astimezone(dt.timezone(HOUR))
    assert begin(Window.DAY, berlin) == NOON.replace(hour=0)
    assert hour_of(berlin + dt.timedelta(minutes=59)) == NOON


@given(
    st.lists(st.tuples(st.integers(0, 47), st.integers(1, 400)), max_size=60),
    st.sampled_from([HOURLY, DAILY]),
    st.lists(st.integers(-1, 1), min_size=60, max_size=60),
)
def test_no_window_ever_holds_more_than_its_cap(calls: list[tuple[int, int]], cap: Cap, steps: list[int]):
    """However calls come, and though the clock steps back and forth by an hour, what is granted stays below the cap."""
    entries: list[Entry] = []
    for (hours, wanted), step in zip(calls, steps, strict=False):
        now = NOON + (hours + step) * HOUR
        if is_within(cap, entries, wanted, now):
            entries.append(an_entry(wanted, hour_of(now)))
    for start in {begin(cap.window, entry.hour) for entry in entries}:
        held = sum(entry.expense.spending.tokens for entry in entries if begin(cap.window, entry.hour) == start)
        assert held <= cap.limit
