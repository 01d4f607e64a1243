"""When to run by itself, and how a replica of the service behaves."""

import datetime as dt
import re
import zoneinfo
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from prober.config import rules
from prober.config.cron import CronError, parse_cron
from prober.config.problems import Location
from prober.config.section import Section

Objection = tuple[Location, str]
QuietWindow = tuple[dt.time, dt.time]
"""From, up to; one that ends before it begins goes over midnight."""

_QUIET = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")

MAX_SCHEDULES = 1_000


def cron_expression(value: str) -> str:
    """Refuse what is no cron expression, and what would never fire."""
    try:
        parse_cron(value)
    except CronError as error:
        raise rules.wrong(str(error)) from None
    return value


def time_zone(value: str) -> str:
    """Refuse a zone that the machine does not know."""
    try:
        zoneinfo.ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise rules.wrong("must be a time zone of the IANA database, such as UTC or Europe/Berlin") from None
    return value


def quiet_window(value: str) -> str:
    """Refuse what is no window of the day."""
    match = _QUIET.fullmatch(value)
    if match is None:
        raise rules.wrong("must be a window of the day such as 22:00-06:00")
    if match[1] == match[3] and match[2] == match[4]:
        raise rules.wrong("begins and ends at the same time; pause the schedule instead")
    return value


def parse_quiet_window(value: str) -> QuietWindow:
    """Read a window that `quiet_window` has passed."""
    begin, _, end = value.partition("-")
    return dt.time.fromisoformat(begin), dt.time.fromisoformat(end)


class ScheduleSettings(Section):
    """One schedule: when to run what."""

    cron: Annotated[str, AfterValidator(cron_expression)] | None = None
    """When it fires, as cron reads it."""
    every_seconds: Annotated[int, Field(ge=1, le=31_536_000)] | None = None
    """Time between two slots, counted from 1970-01-01 00:00 UTC."""
    timezone: Annotated[str, AfterValidator(time_zone)] = "UTC"
    """Zone that cron and quiet hours go by."""
    targets: tuple[str, ...] | None = None
    """Targets to run against; all where left out."""
    scenarios: tuple[Annotated[str, AfterValidator(rules.scenario)], ...] | None = None
    """Shapes of traffic to run; those of the target where left out."""
    max_run_tokens: Annotated[int, Field(ge=1, le=1_000_000_000_000)] | None = None
    """Most tokens one run may cost; the target's where left out."""
    jitter_seconds: Annotated[int, Field(ge=0, le=86_400)] = 0
    """Most time that a slot is put off by, drawn from its name."""
    stagger_seconds: Annotated[int, Field(ge=0, le=86_400)] = 30
    """Time between the same slot of one target and the next."""
    grace_seconds: Annotated[int, Field(ge=1, le=86_400)] = 300
    """How late a slot may still be queued; later it is missed."""
    quiet_hours: tuple[Annotated[str, AfterValidator(quiet_window)], ...] | None = None
    """Windows of the day in which slots are missed."""


class ServiceSettings(Section):
    """How one replica of `prober serve` behaves."""

    replica: Annotated[str, AfterValidator(rules.name)] | None = None
    """Name of this replica, shown as the holder of its runs; the host's name where left out."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 2
    """Runs at once on this replica, each against another target."""
    lease_seconds: Annotated[int, Field(ge=3, le=3_600)] = 60
    """How long a run is held without a sign of life."""
    drain_seconds: Annotated[int, Field(ge=0, le=86_400)] = 25
    """How long an ending replica lets its runs go on."""
    poll_seconds: Annotated[float, Field(ge=0.05, le=60, allow_inf_nan=False)] = 2.0
    """How often to look for work that nobody announced."""
    self_test: bool = True
    """Whether the prober tests itself before scheduled runs."""
    self_test_seconds: Annotated[int, Field(ge=0, le=86_400)] = 60
    """How long a self-test that succeeded counts for the runs that follow; 0: each run has its own."""


def schedule_objections(schedules: Mapping[str, ScheduleSettings], targets: Collection[str]) -> Iterator[Objection]:
    """Yield what does not fit together within schedules, or names no target."""
    if len(schedules) > MAX_SCHEDULES:
        yield (), f"holds more than {MAX_SCHEDULES} schedules"
    for name, schedule in schedules.items():
        if not rules.is_name(name):
            yield (), "a schedule's name must be 1 to 63 letters, digits, - or _"
            continue
        for place, message in _objections(schedule, targets):
            yield (name, *place), message


def _objections(schedule: ScheduleSettings, targets: Collection[str]) -> Iterator[Objection]:
    if schedule.cron is None and schedule.every_seconds is None:
        yield (), "needs cron or every_seconds"
    elif schedule.cron is not None and schedule.every_seconds is not None:
        yield ("every_seconds",), "stands beside cron; keep one of them"
    for key in ("targets", "scenarios"):
        names = getattr(schedule, key)
        if names == ():
            yield (key,), f"is empty; leave it out for all {key}"
        for index, each in enumerate(names or ()):
            if each in names[:index]:
                yield (key, index), "stands here twice"
            elif key == "targets" and each not in targets:
                yield (key, index), "is no target of this file"
    yield from _spread_objections(schedule, len(targets if schedule.targets is None else schedule.targets))


def _spread_objections(schedule: ScheduleSettings, count: int) -> Iterator[Objection]:
    """Yield what would put a slot off beyond the next one."""
    if schedule.every_seconds is None:
        return
    if schedule.jitter_seconds >= schedule.every_seconds:
        yield ("jitter_seconds",), "must be below every_seconds"
    elif schedule.jitter_seconds + schedule.stagger_seconds * max(0, count - 1) >= schedule.every_seconds:
        message = f"puts the last of {count} targets off beyond the next slot"
        yield ("stagger_seconds",), f"{message}; with jitter_seconds it must stay below every_seconds"
