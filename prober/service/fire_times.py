"""The moments at which a schedule fires: cron in a time zone, and intervals.

Not by APScheduler's triggers: its `CronTrigger` (3.11) leaves out the midnight behind the night in which summer time
begins, and fires at 03:30 for a 02:30 that the clock skips. A slot that no trigger names is neither run nor missed.
"""

import dataclasses
import datetime as dt
import zoneinfo
from collections.abc import Iterator
from typing import Protocol

from prober.config.cron import CronTimes

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
"""Intervals are counted from here, so that replicas started at different times agree on them."""

_DAY = dt.timedelta(days=1)
_MINUTES = tuple(dt.timedelta(minutes=minute) for minute in range(60))


class FireTimes(Protocol):
    """When a schedule fires."""

    def after(self, moment: dt.datetime) -> Iterator[dt.datetime]:
        """All fire times after an aware moment, in UTC, in order, for ever."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Interval:
    """Every so many seconds since 1970. Satisfies `FireTimes`."""

    seconds: int
    """At least 1."""

    def after(self, moment: dt.datetime) -> Iterator[dt.datetime]:
        """All multiples after a moment; whole numbers, so that none is lost to rounding."""
        step = dt.timedelta(seconds=self.seconds)
        fire = EPOCH + ((moment - EPOCH) // step + 1) * step
        while True:
            yield fire
            fire += step


@dataclasses.dataclass(frozen=True, slots=True)
class CronInZone:
    """Every minute at which a zone's clock shows what a cron expression names. Satisfies `FireTimes`.

    A local time that the clock skips does not fire; one that it shows twice fires twice.
    """

    times: CronTimes
    zone: zoneinfo.ZoneInfo

    def after(self, moment: dt.datetime) -> Iterator[dt.datetime]:
        """All such minutes after a moment, by looking at each hour of UTC: the only clock that never jumps."""
        day = moment.astimezone(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        while True:
            if self._may_fire_on(day.date()):
                for hour in range(24):
                    yield from (fire for fire in self._of_hour(day.replace(hour=hour)) if fire > moment)
            day += _DAY

    def _may_fire_on(self, day: dt.date) -> bool:
        """Tell whether a day of UTC may hold a fire time: no zone is a whole day off."""
        return any(self._is_day(day + shift) for shift in (-_DAY, 0 * _DAY, _DAY))

    def _is_day(self, day: dt.date) -> bool:
        times = self.times
        return day.month in times.months and day.day in times.days and day.isoweekday() % 7 in times.weekdays

    def _of_hour(self, begin: dt.datetime) -> Iterator[dt.datetime]:
        first, last = begin.astimezone(self.zone), (begin + _MINUTES[-1]).astimezone(self.zone)
        is_even = first.utcoffset() == last.utcoffset()
        if is_even and not {first.hour, last.hour} & set(self.times.hours):
            return
        for minute in _MINUTES:
            local = first + minute if is_even else (begin + minute).astimezone(self.zone)
            if local.minute in self.times.minutes and local.hour in self.times.hours and self._is_day(local.date()):
                yield begin + minute
