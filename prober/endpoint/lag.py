"""How late our own event loop is: timing taken on a late loop proves nothing."""

import asyncio
import contextlib
from collections.abc import Iterator

from prober.runner.ports import Clock

SAMPLE_SECONDS = 0.010


class LagWatch:
    """Largest delay of the event loop while one probe is in flight, in seconds."""

    __slots__ = ("worst",)

    def __init__(self) -> None:
        self.worst = 0.0


class LagSampler:
    """One timer for all probes in flight; it stops with the last of them.

    Each tick asks to be woken after `SAMPLE_SECONDS`; what it is woken later than that is the loop's lag.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._watches: set[LagWatch] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    @contextlib.contextmanager
    def watch(self) -> Iterator[LagWatch]:
        """Sample for as long as the block runs; `worst` is final when it ends."""
        watch = LagWatch()
        self._watches.add(watch)
        if self._timer is None:
            self._schedule()
        try:
            yield watch
        finally:
            # A stall that is not over yet has not been sampled: the timer is overdue now.
            watch.worst = max(watch.worst, self._clock.monotonic() - self._due)
            self._watches.discard(watch)
            if not self._watches and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _schedule(self) -> None:
        self._due = self._clock.monotonic() + SAMPLE_SECONDS
        self._timer = asyncio.get_running_loop().call_later(SAMPLE_SECONDS, self._tick)

    def _tick(self) -> None:
        lag = self._clock.monotonic() - self._due
        for watch in self._watches:
            watch.worst = max(watch.worst, lag)
        self._schedule()
