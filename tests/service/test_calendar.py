"""When slots fall due: the same on every replica."""

import datetime as dt
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from prober.config.schedules import ScheduleSettings
from prober.domain.campaign import Trigger
from prober.service.calendar import Calendar, periods_of

UTC = dt.UTC
MONDAY = dt.datetime(2026, 11, 30, 12, 34, 56, tzinfo=UTC)


def calendar(place: int = 0, name: str = "often", **fields: Any) -> Calendar:  # noqa: ANN401
    return Calendar.of(name, ScheduleSettings(**{"stagger_seconds": 0, **fields}), "glm", place)


def nominal(times: Calendar, since: dt.datetime, count: int = 3) -> list[str]:
    return [f"{slot.nominal:%m-%d %H:%M}" for slot in itertools.islice(times.after(since), count)]


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("0 0 * * 0", ["12-06 00:00", "12-13 00:00", "12-20 00:00"]),
        ("0 0 * * sun", ["12-06 00:00", "12-13 00:00", "12-20 00:00"]),
        ("0 0 * * 7", ["12-06 00:00", "12-13 00:00", "12-20 00:00"]),
        ("0 0 * * 1", ["12-07 00:00", "12-14 00:00", "12-21 00:00"]),
        ("30 13 * * *", ["11-30 13:30", "12-01 13:30", "12-02 13:30"]),
        ("@monthly", ["12-01 00:00", "01-01 00:00", "02-01 00:00"]),
        ("*/25 * * * *", ["11-30 12:50", "11-30 13:00", "11-30 13:25"]),
    ],
)
def test_cron_fires_when_cron_would(cron: str, expected: list[str]):
    """Digits of weekdays are cron's, not the scheduler library's."""
    assert nominal(calendar(cron=cron), MONDAY) == expected


def test_intervals_are_counted_from_1970():
    """Replicas started at different times agree; a slot's own time is not a slot again."""
    times = calendar(every_seconds=3_600)
    assert nominal(times, MONDAY, 2) == ["11-30 13:00", "11-30 14:00"]
    assert nominal(times, MONDAY.replace(hour=13, minute=0, second=0), 1) == ["11-30 14:00"]
    assert nominal(times, MONDAY.replace(hour=13, minute=0, second=0) - dt.timedelta(microseconds=1), 1) == [
        "11-30 13:00"
    ]


def test_local_times_move_with_summer_time():
    """2:30 in Berlin: skipped in March, twice in October, never endless."""
    times = calendar(cron="30 3 * * *", timezone="Europe/Berlin")
    assert nominal(times, dt.datetime(2026, 3, 28, tzinfo=UTC)) == ["03-28 02:30", "03-29 01:30", "03-30 01:30"]
    skipped = calendar(cron="30 2 * * *", timezone="Europe/Berlin")
    march = nominal(skipped, dt.datetime(2026, 3, 28, 12, tzinfo=UTC), 2)
    assert march == ["03-30 00:30", "03-31 00:30"]
    october = nominal(skipped, dt.datetime(2026, 10, 24, 12, tzinfo=UTC))
    assert october == ["10-25 00:30", "10-25 01:30", "10-26 01:30"]


def test_targets_are_staggered_and_slots_jittered_the_same_everywhere():
    """The place in the schedule and the slot's name decide, not the replica; the slot keeps its name."""
    one, again = (calendar(2, every_seconds=600, stagger_seconds=20, jitter_seconds=60) for _ in range(2))
    slots = list(itertools.islice(one.after(MONDAY), 200))

    assert slots == list(itertools.islice(again.after(MONDAY), 200))
    delays = [(slot.due - slot.nominal).total_seconds() - 40 for slot in slots]
    assert all(0 <= delay < 60 for delay in delays)
    assert min(delays) < 10
    assert max(delays) > 50
    assert one.request(slots[0]).slot == "often/glm/2026-11-30T12:40:00+00:00"


def due_until(times: Calendar, begin: dt.datetime, end: dt.datetime) -> Iterator[dt.datetime]:
    due = times.next_due(begin)
    while due is not None and due <= end:
        yield due
        due = times.next_due(due)


def test_the_next_due_time_leaves_no_slot_out():
    """Also where jitter puts a slot before its elder."""
    times = calendar(1, every_seconds=60, stagger_seconds=30, jitter_seconds=59)
    end = MONDAY + dt.timedelta(hours=2)
    expected = sorted(
        slot.due
        for slot in itertools.islice(times.after(MONDAY - dt.timedelta(minutes=5)), 200)
        if MONDAY < slot.due <= end
    )
    assert list(due_until(times, MONDAY, end)) == expected


@pytest.mark.parametrize(
    ("window", "moment", "is_quiet"),
    [
        ("22:00-06:00", "21:59", False),
        ("22:00-06:00", "22:00", True),
        ("22:00-06:00", "05:59", True),
        ("22:00-06:00", "06:00", False),
        ("12:00-13:00", "12:30", True),
        ("12:00-13:00", "13:00", False),
    ],
)
def test_quiet_hours_go_by_the_schedules_own_zone(window: str, moment: str, *, is_quiet: bool):
    """Windows hold their begin and not their end, and may go over midnight."""
    berlin = calendar(every_seconds=60, timezone="Europe/Berlin", quiet_hours=(window,))
    hour, minute = map(int, moment.split(":"))
    local = dt.datetime(2026, 7, 1, hour, minute, tzinfo=berlin.zone)
    assert berlin.is_quiet(local.astimezone(UTC)) is is_quiet


def test_a_request_says_what_the_schedule_says():
    """Scenarios, cap and trigger; whom it comes from."""
    times = calendar(cron="@hourly", scenarios=("baseline",), max_run_tokens=7)
    request = times.request(next(times.after(MONDAY)))
    assert (request.scenarios, request.max_run_tokens, request.trigger) == (("baseline",), 7, Trigger.SCHEDULE)
    assert (request.requested_by, request.target) == ("schedule", "glm")


def test_a_definition_is_what_gives_slots_their_times():
    """Other times are another definition; jitter, quiet hours and spelling are not."""
    hourly = calendar(cron="0 * * * *").definition
    assert calendar(cron="0  *  * * *", jitter_seconds=5, quiet_hours=("12:00-13:00",)).definition == hourly
    assert calendar(cron="1 * * * *").definition != hourly
    assert calendar(cron="0 * * * *", timezone="Europe/Berlin").definition != hourly


@pytest.mark.parametrize(
    ("fields", "hours"),
    [
        ({"every_seconds": 900}, 0.25),
        ({"cron": "0 3 * * *"}, 24),
        ({"cron": "0 3 * * 1-5"}, 72),
        ({"cron": "0 3,4 * * *"}, 23),
        ({"every_seconds": 3_600, "quiet_hours": ("22:00-06:00", "12:00-13:00")}, 9),
        ({"every_seconds": 3_600, "jitter_seconds": 1_800}, 1.5),
    ],
)
def test_the_longest_gap_is_that_of_weekends_nights_and_jitter(fields: dict[str, Any], hours: float):
    """Whoever waits longer than that for a run, waits for one that did not come."""
    assert calendar(**fields).longest_gap(MONDAY) == dt.timedelta(hours=hours)


def test_a_target_is_run_as_often_as_its_most_frequent_schedule():
    """The others only add to it."""
    calendars = [calendar(every_seconds=60), calendar(name="nightly", cron="0 3 * * *")]

    assert periods_of(calendars, MONDAY) == {"glm": dt.timedelta(minutes=1)}
    assert periods_of([], MONDAY) == {}
