"""Deals with the slots of one calendar: each is queued, or missed for a reason, exactly once."""

import asyncio
import collections
import dataclasses
import datetime as dt
from typing import Protocol

from prober.domain.job import Job, JobRequest, JobState, MissedReason
from prober.runner.ports import Clock
from prober.service.calendar import Calendar, Slot
from prober.store.switches import Switches
from prober.telemetry.logs import Log

MOST_MISSED = 1_000
"""Slots of one calendar that are written down one by one after a long absence; older ones are only logged."""

_BREATH = 1_000
"""Slots that are counted in one go: a long absence must not keep the replica's heart from beating."""


class Slots(Protocol):
    """Where slots are written: `store.slots.SlotBook`. Raises LedgerError."""

    async def take(self, request: JobRequest) -> Job | None:
        """Queue a slot, or miss it for overlap; None where another replica came first."""
        ...

    async def miss(self, request: JobRequest, reason: MissedReason) -> Job | None:
        """Write down that a slot was not run; None where it is known."""
        ...

    async def reached(self, schedule: str, target: str, definition: str) -> dt.datetime | None:
        """Tell the latest slot that was dealt with."""
        ...

    async def reach(self, schedule: str, target: str, definition: str, slot: dt.datetime) -> None:
        """Write down that all slots up to this one were dealt with."""
        ...


class SlotWatcher(Protocol):
    """Counts slots: `telemetry.service_series.ServiceSeries`. Must not raise."""

    def slot_queued(self, target: str) -> None:
        """Count a slot that this replica queued."""
        ...

    def slot_missed(self, target: str, reason: MissedReason) -> None:
        """Count a slot that this replica found missed."""
        ...

    def slots_dealt(self, lag: dt.timedelta) -> None:
        """Show how late the latest slot was dealt with."""
        ...


class Dealer:
    """One calendar at work. Its own memory of what it has reached only goes forward, as the database's does."""

    def __init__(self, calendar: Calendar, slots: Slots, clock: Clock, *, watcher: SlotWatcher, log: Log) -> None:
        self.calendar = calendar
        self._slots = slots
        self._clock = clock
        self._watcher = watcher
        self._log = log
        self._reached: dt.datetime | None = None
        self._turn = asyncio.Lock()

    def go_on_from(self, other: "Dealer") -> None:
        """Take over what another dealer of the same times has reached."""
        self._reached = other._reached  # noqa: SLF001 - of its own kind

    async def deal(self, switches: Switches) -> None:
        """Deal with all slots that are due by now.

        Raises:
            LedgerError: the database failed; what was not dealt with is due still.
        """
        async with self._turn:
            await self._deal_with_due(self._clock.now(), switches)

    async def _deal_with_due(self, now: dt.datetime, switches: Switches) -> None:
        reached, reason = self._reached, MissedReason.LATE
        if reached is None:
            reached, reason = await self._begin(now), MissedReason.DOWN
        due, unlisted = await self._due(reached, now)
        if not due:
            return
        if self.calendar.schedule in switches.paused:
            self._log.debug("slots_paused", schedule=self.calendar.schedule, slots=len(due) + unlisted)
        else:
            self._tell_unlisted(unlisted, reason)
            await self._deal(due, now, reason, is_stopped=switches.stop is not None)
        await self._reach(due[-1].nominal)

    async def _due(self, reached: dt.datetime, now: dt.datetime) -> tuple[list[Slot], int]:
        """List the latest slots that are due, and count those before them.

        Slots are dealt with in the order of their names: one that jitter puts before its elder falls due with it.
        """
        latest: collections.deque[Slot] = collections.deque(maxlen=MOST_MISSED)
        count, turn = 0, reached
        for slot in self.calendar.after(reached):
            turn = max(turn, slot.due)
            if turn > now:
                break
            latest.append(dataclasses.replace(slot, due=turn))
            count += 1
            if count % _BREATH == 0:
                await asyncio.sleep(0)
        return list(latest), count - len(latest)

    async def _begin(self, now: dt.datetime) -> dt.datetime:
        """A schedule that is new, or has new times, starts now; a known one where the last replica left off."""
        calendar = self.calendar
        known = await self._slots.reached(calendar.schedule, calendar.target, calendar.definition)
        if known is None:
            await self._reach(now)
            return now
        self._reached = known
        return known

    def _tell_unlisted(self, count: int, reason: MissedReason) -> None:
        if count:
            facts = {"schedule": self.calendar.schedule, "target": self.calendar.target, "slots": count}
            self._log.warning("slots_missed_unlisted", reason=reason, **facts)

    async def _deal(self, due: list[Slot], now: dt.datetime, reason: MissedReason, *, is_stopped: bool) -> None:
        calendar = self.calendar
        for slot in due:
            if now - slot.due > calendar.grace:
                await self._miss(slot, reason)
            elif is_stopped:
                await self._miss(slot, MissedReason.STOPPED)
            elif calendar.is_quiet(slot.due):
                await self._miss(slot, MissedReason.QUIET_HOURS)
            else:
                self._tell(await self._slots.take(calendar.request(slot)))
        self._watcher.slots_dealt(now - due[-1].due)

    async def _miss(self, slot: Slot, reason: MissedReason) -> None:
        self._tell(await self._slots.miss(self.calendar.request(slot), reason))

    def _tell(self, job: Job | None) -> None:
        """Count and log what this replica wrote; what another one wrote it tells itself."""
        if job is None:
            return
        target, slot = job.request.target, job.request.slot
        if job.state is JobState.MISSED:
            reason = MissedReason(job.note)
            self._watcher.slot_missed(target, reason)
            self._log.warning("slot_missed", slot=slot, reason=reason)
        else:
            self._watcher.slot_queued(target)
            self._log.info("slot_queued", slot=slot, job=job.job_id)

    async def _reach(self, nominal: dt.datetime) -> None:
        calendar = self.calendar
        await self._slots.reach(calendar.schedule, calendar.target, calendar.definition, nominal)
        self._reached = nominal
