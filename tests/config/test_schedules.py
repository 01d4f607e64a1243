"""Schedules and the replica's settings."""

import datetime as dt
from typing import Any

import pytest
from pydantic import ValidationError

from prober.config.schedules import (
    MAX_SCHEDULES,
    ScheduleSettings,
    ServiceSettings,
    parse_quiet_window,
    schedule_objections,
)


def objections(schedule: ScheduleSettings, *targets: str, name: str = "nightly") -> list[str]:
    return [message for _, message in schedule_objections({name: schedule}, targets or ("glm", "kimi"))]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"cron": "0 0 31 2 *"}, "never fires"),
        ({"cron": "tomorrow"}, "five fields"),
        ({"every_seconds": 0}, "greater than or equal"),
        ({"every_seconds": 60, "timezone": "Mars/Olympus"}, "IANA"),
        ({"every_seconds": 60, "timezone": "../../etc/passwd"}, "IANA"),
        ({"every_seconds": 60, "quiet_hours": ["22-6"]}, "window of the day"),
        ({"every_seconds": 60, "quiet_hours": ["24:00-06:00"]}, "window of the day"),
        ({"every_seconds": 60, "quiet_hours": ["06:00-06:00"]}, "pause the schedule"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(fields: dict[str, Any], why: str):
    """Each by itself, with what to write instead."""
    with pytest.raises(ValidationError, match=why):
        ScheduleSettings(**fields)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "needs cron or every_seconds"),
        ({"cron": "@hourly", "every_seconds": 60}, "keep one of them"),
        ({"cron": "@hourly", "targets": ()}, "leave it out for all targets"),
        ({"cron": "@hourly", "scenarios": ()}, "leave it out for all scenarios"),
        ({"cron": "@hourly", "targets": ("glm", "glm")}, "stands here twice"),
        ({"cron": "@hourly", "targets": ("gml",)}, "is no target"),
        ({"every_seconds": 60, "jitter_seconds": 60}, "below every_seconds"),
        ({"every_seconds": 60, "stagger_seconds": 30, "jitter_seconds": 30}, "beyond the next slot"),
    ],
)
def test_what_does_not_fit_together_is_named(fields: dict[str, Any], why: str):
    """Within one schedule, and with the file's targets."""
    (message,) = objections(ScheduleSettings(**fields))
    assert why in message


@pytest.mark.parametrize(
    "fields",
    [
        {"cron": "@hourly"},
        {"every_seconds": 60, "stagger_seconds": 59},
        {"every_seconds": 60, "targets": ("glm",), "stagger_seconds": 3_600, "jitter_seconds": 59},
        {"cron": "0 3 * * sun", "timezone": "Europe/Berlin", "quiet_hours": ("22:00-06:00", "12:00-13:00")},
    ],
)
def test_sound_schedules_pass(fields: dict[str, Any]):
    """Nothing is objected to."""
    assert objections(ScheduleSettings(**fields)) == []


def test_names_and_numbers_are_bounded():
    """Names stand in slots and metrics; a file with more schedules than anybody reads is a mistake."""
    hourly = ScheduleSettings(cron="@hourly")
    assert "letters" in objections(hourly, name="a/b")[0]
    many = {f"schedule-{number}": hourly for number in range(MAX_SCHEDULES + 1)}
    assert "more than" in next(message for _, message in schedule_objections(many, ("glm",)))


def test_quiet_windows_are_read():
    """Also over midnight."""
    assert parse_quiet_window("22:00-06:30") == (dt.time(22), dt.time(6, 30))


def test_the_drain_fits_the_usual_grace_period():
    """Kubernetes kills 30 s after SIGTERM unless told otherwise; runs that were cut need some of it to close."""
    assert ServiceSettings().drain_seconds < 30
