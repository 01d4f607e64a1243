"""When the slots of one schedule fall due on one target: the same on every replica, whatever its clock says.

A slot's name is its nominal time; what spreads the load (the target's place in the schedule, jitter drawn from the
slot's name) only puts off when it is dealt with.
"""

import dataclasses
import datetime as dt
import hashlib
import itertools
import json
import zoneinfo
from collections.abc import Iterable, Iterator
from typing import Self

from prober.config.cron import parse_cron
from prober.config.schedules import QuietWindow, ScheduleSettings, parse_quiet_window
from prober.config.schema import Settings
from prober.domain.campaign import Trigger
from prober.domain.job import JobRequest
from prober.service.fire_times import CronInZone, FireTimes, Interval

REQUESTED_BY = "schedule"

GAPS_LOOKED_AT = 100
"""Slots to come whose distances are compared: weekends and ends of months are among them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Slot:
    """One time of a calendar."""

    nominal: dt.datetime
    """Its name, in UTC."""
    due: dt.datetime
    """When it is to be dealt with: staggered and jittered."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Calendar:
    """One schedule on one target."""

    schedule: str
    target: str
    times: FireTimes
    stagger: dt.timedelta
    jitter_seconds: int
    grace: dt.timedelta
    zone: zoneinfo.ZoneInfo
    quiet_hours: tuple[QuietWindow, ...]
    scenarios: tuple[str, ...]
    max_run_tokens: int | None
    definition: str
    """SHA-256 of what gives the slots their nominal times."""

    @classmethod
    def of(cls, name: str, settings: ScheduleSettings, target: str, place: int) -> Self:
        """Build the calendar of the target in this place (from 0) of a schedule."""
        times = [settings.cron and " ".join(settings.cron.lower().split()), settings.every_seconds, settings.timezone]
        return cls(
            schedule=name,
            target=target,
            times=_times(settings),
            stagger=dt.timedelta(seconds=settings.stagger_seconds * place),
            jitter_seconds=settings.jitter_seconds,
            grace=dt.timedelta(seconds=settings.grace_seconds),
            zone=zoneinfo.ZoneInfo(settings.timezone),
            quiet_hours=tuple(map(parse_quiet_window, settings.quiet_hours or ())),
            scenarios=settings.scenarios or (),
            max_run_tokens=settings.max_run_tokens,
            definition=hashlib.sha256(json.dumps(times).encode()).hexdigest(),
        )

    def after(self, nominal: dt.datetime) -> Iterator[Slot]:
        """All slots whose nominal time lies after this one, in order, for ever."""
        for fire in self.times.after(nominal):
            yield Slot(fire, fire + self.stagger + self._jitter(fire))

    def next_due(self, now: dt.datetime) -> dt.datetime | None:
        """The earliest time after `now` at which a slot falls due."""
        furthest = self.stagger + dt.timedelta(seconds=self.jitter_seconds)
        for slot in self.after(now - furthest - dt.timedelta(microseconds=1)):
            if slot.due > now:
                return slot.due
        return None

    def longest_gap(self, now: dt.datetime) -> dt.timedelta:
        """Bound the time between two runs: by the slots to come, a quiet window between them, and jitter."""
        nominal = [slot.nominal for slot in itertools.islice(self.after(now), GAPS_LOOKED_AT + 1)]
        gap = max((later - sooner for sooner, later in itertools.pairwise(nominal)), default=dt.timedelta())
        quiet = max((_length(window) for window in self.quiet_hours), default=dt.timedelta())
        return gap + quiet + dt.timedelta(seconds=self.jitter_seconds)

    def is_quiet(self, moment: dt.datetime) -> bool:
        """Tell whether a moment lies in the quiet hours, by the schedule's own zone."""
        local = moment.astimezone(self.zone).time()
        return any(
            begin <= local < end if begin < end else local >= begin or local < end for begin, end in self.quiet_hours
        )

    def request(self, slot: Slot) -> JobRequest:
        """What a slot asks for."""
        return JobRequest(
            target=self.target,
            trigger=Trigger.SCHEDULE,
            scenarios=self.scenarios,
            max_run_tokens=self.max_run_tokens,
            requested_by=REQUESTED_BY,
            slot=f"{self.schedule}/{self.target}/{slot.nominal.isoformat()}",
        )

    def _jitter(self, nominal: dt.datetime) -> dt.timedelta:
        """Drawn from the slot's name, uniform over 0..jitter seconds: all replicas draw the same."""
        if not self.jitter_seconds:
            return dt.timedelta(0)
        name = f"{self.schedule}/{self.target}/{nominal.isoformat()}"
        fraction = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) / (1 << 64)
        return dt.timedelta(seconds=self.jitter_seconds * fraction)


def calendars_of(settings: Settings) -> tuple[Calendar, ...]:
    """All calendars of a configuration."""
    return tuple(
        Calendar.of(name, schedule, target, place)
        for name, schedule in settings.schedules.items()
        for place, target in enumerate(settings.targets if schedule.targets is None else schedule.targets)
    )


def periods_of(calendars: Iterable[Calendar], now: dt.datetime) -> dict[str, dt.timedelta]:
    """Say how long each target may go without a scheduled run while all is well: by its most frequent schedule."""
    periods: dict[str, dt.timedelta] = {}
    for calendar in calendars:
        gap = calendar.longest_gap(now)
        periods[calendar.target] = min(gap, periods.get(calendar.target, gap))
    return periods


def _length(window: QuietWindow) -> dt.timedelta:
    begin, end = (dt.timedelta(hours=each.hour, minutes=each.minute) for each in window)
    return (end - begin) % dt.timedelta(days=1)


def _times(settings: ScheduleSettings) -> FireTimes:
    if settings.cron is not None:
        return CronInZone(parse_cron(settings.cron), zoneinfo.ZoneInfo(settings.timezone))
    if settings.every_seconds is None:
        raise ValueError("a schedule has cron or every_seconds; the loader sees to it")
    return Interval(settings.every_seconds)
