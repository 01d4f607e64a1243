"""Fire times against a clock on the wall that is looked at each minute."""

import datetime as dt
import itertools
import zoneinfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.config.cron import parse_cron
from prober.service.fire_times import EPOCH, CronInZone, Interval

UTC = dt.UTC
MINUTE = dt.timedelta(minutes=1)
SPAN = dt.timedelta(hours=40)

CHANGES = (
    ("Europe/Berlin", dt.datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", dt.datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", dt.datetime(2026, 3, 8, 7, tzinfo=UTC)),
    # Half an hour; at midnight; from midnight to the day before; two hours; a day that is left out as a whole.
    ("Australia/Lord_Howe", dt.datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("America/Santiago", dt.datetime(2026, 9, 6, 4, tzinfo=UTC)),
    ("America/Santiago", dt.datetime(2026, 4, 5, 3, tzinfo=UTC)),
    ("Antarctica/Troll", dt.datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Pacific/Apia", dt.datetime(2011, 12, 30, 10, tzinfo=UTC)),
    ("America/St_Johns", dt.datetime(2010, 11, 7, 2, 31, tzinfo=UTC)),
    ("Asia/Kathmandu", dt.datetime(2026, 2, 28, 18, 15, tzinfo=UTC)),
    ("UTC", dt.datetime(2028, 2, 29, tzinfo=UTC)),
)
"""Zones, and moments near which their clocks jump."""

expressions = st.tuples(
    st.sampled_from(["0", "30", "59", "*/15", "*", "7-9"]),
    st.sampled_from(["0", "1", "2", "3", "23", "*", "0-3", "*/2"]),
    st.sampled_from(["*", "1", "29", "30", "31"]),
    st.just("*"),
).map(" ".join)
weekdays = st.sampled_from(["*", "sun", "mon-fri", "6,7"])


def on_the_wall(times: CronInZone, begin: dt.datetime, end: dt.datetime) -> list[dt.datetime]:
    """Look at the zone's clock each minute, and at the expression's fields by themselves."""
    found, moment, fields = [], begin + MINUTE, times.times
    while moment <= end:
        local = moment.astimezone(times.zone)
        is_day = local.day in fields.days and local.month in fields.months and local.isoweekday() % 7 in fields.weekdays
        if is_day and local.hour in fields.hours and local.minute in fields.minutes:
            found.append(moment)
        moment += MINUTE
    return found


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(CHANGES), expressions, weekdays)
def test_every_minute_that_a_clock_shows_fires_and_no_other(
    change: tuple[str, dt.datetime], expression: str, weekday: str
):
    """Around the hours at which clocks jump: nothing is lost or moved, what comes twice fires twice."""
    zone, moment = change
    if not expression.split()[2].startswith("*"):
        weekday = "*"
    times = CronInZone(parse_cron(f"{expression} {weekday}"), zoneinfo.ZoneInfo(zone))
    begin, end = moment - SPAN, moment + SPAN

    fires = list(itertools.takewhile(lambda fire: fire <= end, times.after(begin)))
    assert fires == on_the_wall(times, begin, end)


def test_no_night_is_lost_to_summer_time():
    """The midnight behind Berlin's short night is there: a slot that nobody names is neither run nor missed."""
    times = CronInZone(parse_cron("0 0 * * *"), zoneinfo.ZoneInfo("Europe/Berlin"))
    fires = itertools.islice(times.after(dt.datetime(2026, 3, 28, 12, tzinfo=UTC)), 3)
    assert [f"{fire:%m-%d %H:%M}" for fire in fires] == ["03-28 23:00", "03-29 22:00", "03-30 22:00"]


@pytest.mark.parametrize(("expression", "expected"), [("0 0 29 2 *", "2028-02-29"), ("0 0 1 1 *", "2027-01-01")])
def test_what_comes_seldom_is_found(expression: str, expected: str):
    """Years ahead."""
    times = CronInZone(parse_cron(expression), zoneinfo.ZoneInfo("UTC"))
    assert f"{next(times.after(dt.datetime(2026, 9, 1, tzinfo=UTC))):%Y-%m-%d}" == expected


@given(
    st.integers(1, 31_536_000),
    st.datetimes(dt.datetime(1960, 1, 1), dt.datetime(2190, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - made aware
)
def test_intervals_are_multiples_since_1970_and_none_is_left_out(seconds: int, moment: dt.datetime):
    """Whatever the moment's microsecond, and also a century from now."""
    step = dt.timedelta(seconds=seconds)
    first, second = itertools.islice(Interval(seconds).after(moment), 2)
    assert (first - EPOCH) % step == dt.timedelta(0)
    assert moment < first <= moment + step
    assert second == first + step
    assert next(Interval(seconds).after(first)) == second
