"""How late this process's event loop is: a late loop beats late, deals slots late and times probes wrongly."""

import asyncio
import collections
from typing import Protocol

from prober.runner.ports import Clock

SAMPLE_SECONDS = 0.25
WINDOW_SAMPLES = 240
"""A minute's worth: what a scraper that comes each minute must not miss."""


class LagWatcher(Protocol):
    """Shows the lag: `telemetry.service_series.ServiceSeries`. Must not raise."""

    def loop_lagged(self, worst: float) -> None:
        """Show the worst delay of the latest minute, in seconds."""
        ...


async def watch_loop(clock: Clock, watcher: LagWatcher) -> None:
    """Measure until cancelled: how much later than asked for a timer fires."""
    samples: collections.deque[float] = collections.deque(maxlen=WINDOW_SAMPLES)
    while True:
        before = clock.monotonic()
        await asyncio.sleep(SAMPLE_SECONDS)
        samples.append(max(0.0, clock.monotonic() - before - SAMPLE_SECONDS))
        watcher.loop_lagged(max(samples))
