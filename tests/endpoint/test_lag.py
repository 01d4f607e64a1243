import asyncio
import time

import pytest

from prober.endpoint.lag import LagSampler
from tests.support.http_endpoint import SystemClock

pytestmark = pytest.mark.alone


async def test_stall_within_is_seen_by_all_in_flight():
    """A blocked loop shows in every watch that was open."""
    sampler = LagSampler(SystemClock())
    with sampler.watch() as first, sampler.watch() as second:
        await asyncio.sleep(0.015)
        time.sleep(0.06)  # noqa: ASYNC251 - the stall under test
        await asyncio.sleep(0.03)
    assert first.worst >= 0.045
    assert second.worst >= 0.045


async def test_stall_at_the_very_end_is_seen():
    """A stall that ends with the probe, before the timer could run, counts."""
    sampler = LagSampler(SystemClock())
    with sampler.watch() as watch:
        time.sleep(0.05)  # noqa: ASYNC251 - the stall under test
    assert watch.worst >= 0.035


async def test_stall_before_is_not_charged():
    """A watch opened after a stall does not see it."""
    sampler = LagSampler(SystemClock())
    with sampler.watch():
        time.sleep(0.05)  # noqa: ASYNC251 - the stall under test
    with sampler.watch() as later:
        pass
    assert later.worst < 0.02


async def test_sampling_stops_with_the_last_watch():
    """No timer is left behind."""
    sampler = LagSampler(SystemClock())
    with sampler.watch():
        with sampler.watch():
            pass
        assert sampler._timer is not None
    assert sampler._timer is None
