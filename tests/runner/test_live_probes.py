"""Runs side by side share one index of live probes: what one reads, another does not change under it."""

import asyncio
import contextlib
import dataclasses
import threading
from collections.abc import Iterator

import pytest

from prober.domain.canary import Canary
from prober.domain.reading import Reading
from prober.runner import live_probes
from prober.runner.live_probes import LiveProbes
from tests.support.canary_text import KEYRING, prompt_of
from tests.support.evidence import a_probe, a_reading, an_observation
from tests.support.together import together

WAIT_SECONDS = 10.0
FIRST, SECOND = [(a_probe(), prompt_of(Canary(number, 9))) for number in (1, 2)]


@dataclasses.dataclass
class SlowReading:
    """A reading that takes until it is let go."""

    may_end: threading.Event = dataclasses.field(default_factory=threading.Event)
    began: threading.Event = dataclasses.field(default_factory=threading.Event)
    count: int = 0

    def read(self, *_: object, **__: object) -> Reading:
        self.count += 1
        self.began.set()
        assert self.may_end.wait(WAIT_SECONDS)
        return a_reading()

    async def until_begun(self) -> None:
        assert await asyncio.to_thread(self.began.wait, WAIT_SECONDS)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowReading]:
    reading = SlowReading()
    monkeypatch.setattr(live_probes, "read", reading.read)
    yield reading
    reading.may_end.set()


async def stands_still(task: asyncio.Task[object]) -> bool:
    """Nothing comes of it while the loop turns."""
    await asyncio.wait([task], timeout=0.05)
    return not task.done()


async def test_a_prompt_is_entered_between_readings_only(slow: SlowReading):
    """While a run's answer is read, another run's prompt waits, and with it its sending; then it is live."""
    live = LiveProbes(KEYRING)
    await live.remember([FIRST])
    reading = asyncio.create_task(live.read(*FIRST, an_observation()))
    await slow.until_begun()

    entering = asyncio.create_task(live.remember([SECOND]))

    assert await stands_still(entering)
    assert not live.knows(SECOND[1].canary)
    slow.may_end.set()
    await together([asyncio.wait_for(task, WAIT_SECONDS) for task in (reading, entering)])
    assert live.knows(SECOND[1].canary)


async def test_readings_go_one_after_the_other(slow: SlowReading):
    """They keep what they work out in the index, so that a second one begins when the first has ended."""
    live = LiveProbes(KEYRING)
    await live.remember([FIRST, SECOND])
    both = [asyncio.create_task(live.read(*each, an_observation())) for each in (FIRST, SECOND)]
    await slow.until_begun()

    assert await stands_still(both[1])
    assert slow.count == 1
    slow.may_end.set()
    await together([asyncio.wait_for(task, WAIT_SECONDS) for task in both])
    assert slow.count == 2


async def test_the_thread_of_a_cut_run_keeps_its_turn(slow: SlowReading):
    """A run that is cancelled leaves at once; its thread still reads, so nothing is entered before that has ended."""
    live = LiveProbes(KEYRING)
    reading = asyncio.create_task(live.read(*FIRST, an_observation()))
    await slow.until_begun()
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(reading, WAIT_SECONDS)
    assert reading.cancelled()

    entering = asyncio.create_task(live.remember([SECOND]))

    assert await stands_still(entering)
    slow.may_end.set()
    await asyncio.wait_for(entering, WAIT_SECONDS)


async def test_answers_of_many_runs_are_attributed_each_to_its_own():
    """Prompts come and go in the index, more than it holds fragments of, while answers are read: none is misread."""
    live = LiveProbes(KEYRING)
    planned = [(a_probe(), prompt_of(Canary(1 + number % 2, 100 + number), lines=6)) for number in range(200)]

    async def run(number: int) -> bool:
        probe, donor = planned[number]
        own = (probe, prompt_of(Canary(3, number), lines=6))
        await live.remember([(probe, donor), own])
        reading = await live.read(*own, an_observation(text=donor.text))
        return {sighting.canary for sighting in reading.foreign} == {donor.canary}

    assert all(await together([run(number) for number in range(len(planned))]))
