import asyncio
import time

import pytest

from prober.domain.errors import ConfigError
from prober.endpoint.pacing import TenantPacing
from tests.support.http_endpoint import SystemClock

pytestmark = pytest.mark.alone


def pacing(starts: int = 100, period: float = 1.0, in_flight: int = 100) -> TenantPacing:
    return TenantPacing(starts_per_period=starts, period_seconds=period, max_in_flight=in_flight, clock=SystemClock())


async def test_starts_keep_the_rate_in_every_window():
    """No window of one period holds more starts than allowed, and the waits are told."""
    paced = pacing(starts=3, period=0.2)
    waits = []
    starts = []
    for _ in range(7):
        waits.append(await paced.start())
        starts.append(time.monotonic())
    assert all(later - earlier >= 0.195 for earlier, later in zip(starts, starts[3:], strict=False))
    assert max(waits[:3]) < 0.05
    assert waits[3] >= 0.1


async def test_places_bound_what_is_in_flight():
    """The next probe waits for a place, and learns how long it waited."""
    paced = pacing(in_flight=1)
    waits = []

    async def one() -> None:
        async with paced.place() as wait:
            waits.append(wait)
            await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as group:
        group.create_task(one())
        group.create_task(one())
    assert waits[0] < 0.04
    assert waits[1] >= 0.045


async def test_cancelled_waiter_gives_its_place_back():
    """A cancelled wait leaves no place taken."""
    paced = pacing(in_flight=1)
    async with paced.place():
        waiter = asyncio.ensure_future(paced.place().__aenter__())
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
    async with asyncio.timeout(1), paced.place():
        pass


@pytest.mark.parametrize(("starts", "period", "in_flight"), [(0, 1.0, 1), (1, 0.0, 1), (1, 1.0, 0)])
def test_pacing_that_would_wait_for_ever_is_refused(starts: int, period: float, in_flight: int):
    """A rate, period or bound of zero is a configuration error."""
    with pytest.raises(ConfigError):
        pacing(starts, period, in_flight)
