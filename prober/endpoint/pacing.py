"""Pacing per tenant: how often requests start, and how many are in flight."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from asyncio_throttle.throttler import Throttler

from prober.domain.errors import ConfigError
from prober.runner.ports import Clock

# The throttle polls: at its default of 10 ms, many waiters cost half a core.
_RETRY_SECONDS = 0.05


class TenantPacing:
    """Both bounds of one tenant. Waiting happens before a probe's clock starts."""

    def __init__(self, *, starts_per_period: int, period_seconds: float, max_in_flight: int, clock: Clock) -> None:
        if starts_per_period < 1 or period_seconds <= 0 or max_in_flight < 1:
            # The throttle would wait for ever.
            raise ConfigError("pacing needs at least one start per period, a period above 0 s and one probe in flight")
        self._clock = clock
        self._in_flight = asyncio.Semaphore(max_in_flight)
        self._starts = Throttler(starts_per_period, period=period_seconds, retry_interval=_RETRY_SECONDS)

    @contextlib.asynccontextmanager
    async def place(self) -> AsyncIterator[float]:
        """Hold one of the places in flight; gives the seconds spent waiting for it."""
        asked = self._clock.monotonic()
        async with self._in_flight:
            yield self._clock.monotonic() - asked

    async def start(self) -> float:
        """Wait until another request may start; gives the seconds spent waiting."""
        asked = self._clock.monotonic()
        await self._starts.acquire()  # type: ignore[no-untyped-call]  # the library has no annotations
        return self._clock.monotonic() - asked
