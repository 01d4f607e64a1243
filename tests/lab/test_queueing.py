"""Waiting in a queue, and the slow tail."""

import asyncio
import collections

import pytest

from prober.domain.errors import LabError
from prober.lab.crew import Crew
from prober.lab.queueing import Queueing
from prober.lab.settings import Honesty
from prober.lab.timing import Pace
from tests.support.cluster import SMALL, ask_tokens, prompt, request, running, until

BUSY = Honesty(queue_rate=0.2, queue_seconds=60.0, slow_tail_rate=0.05, slow_tail_seconds=600.0)


def queueing(honesty: Honesty = BUSY, seed: int = 1) -> tuple[Queueing, collections.Counter[str]]:
    counters: collections.Counter[str] = collections.Counter()
    return Queueing(honesty, Pace(1e-6, 0.0, seed), seed, Crew(), counters), counters


def test_waits_come_at_their_rates_and_are_counted():
    """Most requests do not wait, some do, few very long, none longer than was set; each wait is counted."""
    queue, counters = queueing()

    waits = [queue.seconds(room) for room in range(4_000)]

    short = [wait for wait in waits if 0 < wait <= 60]
    long = [wait for wait in waits if wait > 60]
    assert 700 < len(short) < 900
    assert 140 < len(long) < 260
    assert min(long) >= 300
    assert max(long) <= 600
    assert counters == {"queue_waits": len(short), "slow_tails": len(long)}


def test_waits_repeat_by_seed():
    """The same seed gives the same waits whatever the order of requests; another seed gives others."""
    rooms = range(200)
    first, again, other = queueing()[0], queueing()[0], queueing(seed=2)[0]
    waits = {room: first.seconds(room) for room in rooms}
    assert {room: again.seconds(room) for room in reversed(rooms)} == waits
    assert {room: other.seconds(room) for room in rooms} != waits


def test_nobody_waits_by_default():
    """A lab has no queue unless it is told to."""
    queue, counters = queueing(Honesty())
    assert [queue.seconds(room) for room in range(100)] == [0.0] * 100
    assert not counters


async def test_a_wait_stands_before_the_first_token():
    """The client sees the wait as time to the first token, and the answer is its own."""
    honesty = Honesty(queue_rate=1.0, queue_seconds=3_000.0)
    async with running() as cluster:
        plain = await ask_tokens(cluster, "amber", 300)
    async with running(honesty=honesty, seed=3) as cluster:
        waited = await ask_tokens(cluster, "amber", 300)
        assert cluster.counters["queue_waits"] == 1
        expected = queueing(honesty, seed=3)[0].seconds(1) * SMALL.time_scale
    assert waited.first_seconds >= expected > 0
    assert waited.text == plain.text


@pytest.mark.parametrize("ending", ["hang-up", "stop"])
async def test_a_wait_ends_with_its_client_and_with_the_cluster(ending: str):
    """Whoever hangs up leaves the queue, and a cluster that stops answers nobody late."""
    honesty = Honesty(slow_tail_rate=1.0, slow_tail_seconds=1e9)
    async with running(honesty=honesty) as cluster:
        asked = request("amber", prompt("amber", 300, cluster.tokenizer))
        asking = asyncio.create_task(anext(cluster.generate(asked)))
        await until(lambda: cluster.counters["slow_tails"])
        if ending == "stop":
            await cluster.stop()
            with pytest.raises(LabError, match="stopped"):
                await asyncio.wait_for(asking, 5)
            return
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asking, 5)
