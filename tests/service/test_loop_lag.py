"""A loop that was blocked shows, for as long as a scraper may take to come by."""

import asyncio
import time

import pytest

from prober.service import loop_lag
from prober.service.loop_lag import watch_loop
from prober.wiring.system import SystemClock
from tests.support.holding import until


class Shown:
    """Keeps what was shown."""

    def __init__(self) -> None:
        self.lags: list[float] = []

    def loop_lagged(self, worst: float) -> None:
        self.lags.append(worst)


async def test_a_blocked_loop_is_seen_and_forgotten_after_the_window(monkeypatch: pytest.MonkeyPatch):
    """The worst delay stands for a window's length, then goes."""
    monkeypatch.setattr(loop_lag, "SAMPLE_SECONDS", 0.01)
    monkeypatch.setattr(loop_lag, "WINDOW_SAMPLES", 5)
    shown = Shown()
    task = asyncio.create_task(watch_loop(SystemClock(), shown))
    await until(lambda: shown.lags)
    time.sleep(0.5)  # noqa: ASYNC251 - this is what is measured
    await until(lambda: max(shown.lags) >= 0.45)
    blocked = len(shown.lags)
    await until(lambda: len(shown.lags) >= blocked + 6)
    task.cancel()
    await asyncio.wait([task])

    assert shown.lags[-1] < 0.45
    assert min(shown.lags) >= 0
