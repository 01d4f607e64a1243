"""A replica's heart: each beat extends its leases, takes back what dead replicas held, and reads what all obey."""

import asyncio
import datetime as dt
from collections.abc import Callable, Mapping
from typing import Protocol

from prober.config.schedules import ServiceSettings
from prober.domain.errors import LeaseLostError, LedgerError
from prober.domain.job import Job, JobState
from prober.runner.ports import Clock
from prober.service.holdings import Cut, Held, Holdings
from prober.store.jobs import Census
from prober.store.switches import Switches
from prober.telemetry.logs import Log

MOST_SECONDS_APART = 5.0
"""Beats are no further apart, however long the lease: a cancel or a stop is obeyed within so long."""

BEATS_PER_LEASE = 3
"""Two beats may fail before a lease is over."""


class LeasedQueue(Protocol):
    """What the heart needs of `store.jobs.JobQueue`. Raises LedgerError."""

    async def extend(self, job: Job, lease: dt.timedelta) -> Job:
        """Hold on to a claimed job; LeaseLostError once it is another's."""
        ...

    async def reclaim_lost(self) -> tuple[Job, ...]:
        """Take back what replicas hold past their lease."""
        ...

    async def census(self) -> Census:
        """Count the jobs."""
        ...


class Board(Protocol):
    """What the heart needs of `store.switches.SwitchBoard`. Raises LedgerError."""

    async def read(self) -> Switches:
        """Tell which switches are thrown."""
        ...


class HeartWatcher(Protocol):
    """Shows the queue: `telemetry.service_series.ServiceSeries`. Must not raise."""

    def queue_seen(self, counts: Mapping[JobState, int], longest_wait: dt.timedelta, now: dt.datetime) -> None:
        """Show the queue as just read."""
        ...

    def taken_back(self, count: int) -> None:
        """Count runs taken back from lost replicas."""
        ...

    def stopped(self, *, is_thrown: bool) -> None:
        """Show the global stop switch."""
        ...


class GlobalStop:
    """The global stop switch as last read. Satisfies `runner.ports.StopSwitch`."""

    def __init__(self) -> None:
        self.is_thrown = False

    def is_set(self) -> bool:
        """True once probing must end."""
        return self.is_thrown


class Heart:
    """Beats until it is cancelled. A database that is gone is logged and tried again at the next beat."""

    def __init__(  # noqa: PLR0913 - a replica's parts
        self,
        queue: LeasedQueue,
        board: Board,
        holdings: Holdings,
        stop: GlobalStop,
        *,
        settings: Callable[[], ServiceSettings],
        clock: Clock,
        watcher: HeartWatcher,
        log: Log,
    ) -> None:
        self._queue = queue
        self._board = board
        self._holdings = holdings
        self._stop = stop
        self._settings = settings
        self._clock = clock
        self._watcher = watcher
        self._log = log
        self._asked = asyncio.Event()
        self._heard_at: float | None = None
        """Monotonic time of the latest beat that came through as a whole."""
        self._spares_until = 0.0

    def ask(self) -> None:
        """Beat now: there is news."""
        self._asked.set()

    async def beat(self) -> None:
        """Beat for ever."""
        while True:
            self._asked.clear()
            await self.beat_once()
            try:
                async with asyncio.timeout(self.seconds_apart):
                    await self._asked.wait()
            except TimeoutError:
                continue

    @property
    def seconds_apart(self) -> float:
        """Time between two beats."""
        return min(MOST_SECONDS_APART, self._settings().lease_seconds / BEATS_PER_LEASE)

    async def beat_once(self) -> None:
        """Extend first: what this replica holds must not look lost to itself after its machine was suspended."""
        async with asyncio.TaskGroup() as group:
            beats = [group.create_task(self._extend(held)) for held in self._holdings.all()]
        if not all(beat.result() for beat in beats):
            # Whoever cannot keep its own leases takes back nobody's: they might be its own.
            self._log.warning("leases_not_extended", jobs=len(beats))
            return
        try:
            async with asyncio.timeout(max(1.0, self._settings().lease_seconds / BEATS_PER_LEASE)):
                await self._look_around()
        except (LedgerError, TimeoutError) as error:
            self._log.warning("database_unheard", reason=str(error) or "no answer in time")

    async def _extend(self, held: Held) -> bool:
        """Extend one lease; False where the database did not say whether it stands."""
        lease = self._settings().lease_seconds
        asked_at = self._clock.monotonic()
        try:
            async with asyncio.timeout(max(1.0, lease / BEATS_PER_LEASE)):
                job = await self._queue.extend(held.job, dt.timedelta(seconds=lease))
        except LeaseLostError:
            held.cut(Cut.LOST)
            return True
        except (LedgerError, TimeoutError):
            if self._clock.monotonic() - held.heard_at >= lease:
                held.cut(Cut.UNHEARD)
            return False
        held.heard_at = asked_at
        if job.is_cancel_requested:
            held.cut(Cut.CANCELLED)
        return True

    def _may_take_back(self) -> bool:
        """Spare others for one lease after an outage that may have cost leases: they could not extend theirs either.

        Those alive come first then, with what their runs saw and could not write down.
        """
        now, lease = self._clock.monotonic(), self._settings().lease_seconds
        # Extended every third of their length, leases have two thirds left when an outage begins.
        if self._heard_at is not None and now - self._heard_at >= lease * (BEATS_PER_LEASE - 1) / BEATS_PER_LEASE:
            self._spares_until = now + lease
        return now >= self._spares_until

    async def _look_around(self) -> None:
        taken = await self._queue.reclaim_lost() if self._may_take_back() else ()
        for job in taken:
            self._log.warning("job_taken_back", job=job.job_id, target=job.request.target, state=job.state)
        self._watcher.taken_back(len(taken))
        switches = await self._board.read()
        if self._stop.is_thrown != (switches.stop is not None):
            self._stop.is_thrown = switches.stop is not None
            self._log.warning("global_stop", is_thrown=self._stop.is_thrown)
        self._watcher.stopped(is_thrown=self._stop.is_thrown)
        census = await self._queue.census()
        self._watcher.queue_seen(census.counts, census.longest_wait, self._clock.now())
        self._heard_at = self._clock.monotonic()
