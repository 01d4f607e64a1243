"""The queue in front of the scheduler: an honest machine lets some requests wait, a few of them very long."""

import asyncio
import collections
import random

from prober.domain.errors import LabError
from prober.lab.crew import Crew
from prober.lab.settings import Honesty
from prober.lab.timing import Pace


class Queueing:
    """Waits before the first token, drawn per request and repeatably; counted as queue_waits and slow_tails."""

    def __init__(self, honesty: Honesty, pace: Pace, seed: int, crew: Crew, counters: collections.Counter[str]) -> None:
        self._honesty = honesty
        self._pace = pace
        self._seed = seed
        self._crew = crew
        self._counters = counters

    def seconds(self, room: int) -> float:
        """Virtual seconds that a request waits; mostly 0."""
        honesty = self._honesty
        draw = random.Random(f"queueing {self._seed} {room}")  # noqa: S311 - simulation, no secret
        chance, share = draw.random(), draw.random()
        if chance < honesty.slow_tail_rate:
            self._counters["slow_tails"] += 1
            return honesty.slow_tail_seconds * (1 + share) / 2
        if chance < honesty.slow_tail_rate + honesty.queue_rate:
            self._counters["queue_waits"] += 1
            return honesty.queue_seconds * share
        return 0.0

    async def wait(self, room: int) -> None:
        """Let a request wait as long as it has drawn.

        Raises:
            LabError: the cluster was stopped meanwhile.
        """
        seconds = self.seconds(room)
        if not seconds:
            return
        # A task of the cluster's own, so that what still queues ends with it.
        waiting = self._crew.start(self._pace.sleep(seconds))
        try:
            await asyncio.wait([waiting])
        finally:
            waiting.cancel()
        if waiting.cancelled():
            raise LabError("the lab was stopped")
