"""Wakes the dealers of all calendars when a slot falls due. APScheduler keeps the times, in memory, and nothing else.

What APScheduler would decide by itself (a misfire, a job that is still running) is decided by the dealers instead, from
what the database knows; its events only feed the metrics.
"""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED, JobEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from prober.domain.errors import LedgerError
from prober.service.calendar import Calendar
from prober.service.slot_dealing import Dealer
from prober.store.switches import Switches
from prober.telemetry.logs import Log

RETRY_SECONDS = 5.0
"""Between attempts while the database is gone."""


class MisfireWatcher(Protocol):
    """Counts misfires: `telemetry.service_series.ServiceSeries`. Must not raise."""

    def misfire(self) -> None:
        """Count a wake-up of the scheduler that did not happen in its time."""
        ...


class DueTrigger(BaseTrigger):  # type: ignore[misc]  # untyped upstream
    """Fires when slots of a calendar fall due."""

    def __init__(self, calendar: Calendar) -> None:
        self._calendar = calendar

    def get_next_fire_time(self, previous_fire_time: dt.datetime | None, now: dt.datetime) -> dt.datetime | None:
        """APScheduler's question."""
        return self._calendar.next_due(previous_fire_time or now)


class Scheduler:
    """The calendars of one replica.

    Args:
        switches: reads the switches that all replicas obey; raises LedgerError.
        watcher: counts misfires.
        log: tells of databases that are gone.
    """

    def __init__(self, switches: Callable[[], Awaitable[Switches]], *, watcher: MisfireWatcher, log: Log) -> None:
        self._switches = switches
        self._watcher = watcher
        self._log = log
        self._dealers: dict[tuple[str, str], Dealer] = {}
        self._clockwork = AsyncIOScheduler(
            timezone=dt.UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        missed = EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES | EVENT_JOB_ERROR
        self._clockwork.add_listener(self._on_misfire, missed)

    @property
    def is_running(self) -> bool:
        """Between `start` and `stop`."""
        return bool(self._clockwork.running)

    def start(self, dealers: Sequence[Dealer]) -> None:
        """Begin, with what fell due while nobody was there."""
        self._clockwork.start()
        self.replace(dealers)

    def replace(self, dealers: Sequence[Dealer]) -> None:
        """Take these calendars instead of those before; one whose times are the same goes on where it was."""
        before, self._dealers = self._dealers, {}
        self._clockwork.remove_all_jobs()
        for dealer in dealers:
            name = (dealer.calendar.schedule, dealer.calendar.target)
            known = before.get(name)
            if known is not None and known.calendar.definition == dealer.calendar.definition:
                dealer.go_on_from(known)
            self._dealers[name] = dealer
            job_id = "/".join(name)
            self._clockwork.add_job(self._deal, DueTrigger(dealer.calendar), args=[dealer], id=job_id)
            # And at once: slots may have come due while nobody looked.
            self._clockwork.add_job(self._deal, args=[dealer], id=f"{job_id}/at-once")

    def look_again(self) -> None:
        """Let the clock be read anew: a timer does not notice that the date was set forward."""
        self._clockwork.wakeup()

    def next_due(self, schedule: str, now: dt.datetime) -> dt.datetime | None:
        """When a schedule next falls due on any of its targets; None: never, or there is none of that name."""
        dues = [dealer.calendar.next_due(now) for (name, _), dealer in self._dealers.items() if name == schedule]
        return min((due for due in dues if due is not None), default=None)

    async def stop(self) -> None:
        """Queue nothing more."""
        if not self.is_running:
            return
        self._clockwork.pause()
        # With wait=True the executor would cancel what runs at once; slots not dealt with are due still, for anybody.
        self._clockwork.shutdown(wait=False)
        await asyncio.sleep(0)

    async def _deal(self, dealer: Dealer) -> None:
        """Deal with what is due; until the database takes it, or others took the calendar's place."""
        while self.is_running and dealer in self._dealers.values():
            try:
                await dealer.deal(await self._switches())
            except LedgerError as error:
                self._log.warning("slots_wait", schedule=dealer.calendar.schedule, reason=str(error))
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    def _on_misfire(self, event: JobEvent) -> None:
        self._watcher.misfire()
        self._log.warning("scheduler_misfire", job=event.job_id)
