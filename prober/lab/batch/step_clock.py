"""When a row's decode steps are due."""

import asyncio
from collections.abc import Callable

from prober.lab.timing import DECODE_STEP_SECONDS, PREFILL_SECONDS_PER_TOKEN, Pace

_MOST_AT_ONCE = 4
"""Steps made without letting anybody else run. Not more: clients need time to hang up in the middle of an answer."""
_SHORTEST_WAIT = 1e-5
"""Anything above 0: it lasts as long as the timer's resolution, about a millisecond."""


class StepClock:
    """Paces one row.

    At most time scales a step is shorter than a timer's resolution: whoever runs alone makes a few steps together that
    are due by then. In company each step waits, so that rows come and go in mid-answer.

    `running` tells how many rows there are. `prefilled` tells how many prompt tokens are being prefilled beside them: a
    step that shares the machine with a chunk lasts as much longer as the chunk's linear cost (chunked prefill mixed
    with decode, Sarathi-Serve, OSDI 2024).
    """

    def __init__(self, pace: Pace, running: Callable[[], int], prefilled: Callable[[], int]) -> None:
        self._pace = pace
        self._running = running
        self._prefilled = prefilled
        self._loop = asyncio.get_running_loop()
        self.restart()

    def restart(self) -> None:
        """The next step is due now."""
        self._due = self._loop.time()
        self._made = 0

    def advance(self) -> None:
        """A step was made."""
        self._due += self._pace.real(DECODE_STEP_SECONDS + self._prefilled() * PREFILL_SECONDS_PER_TOKEN)
        self._made += 1

    def is_due(self) -> bool:
        """Whether the next step may follow at once."""
        return self._made < _MOST_AT_ONCE and self._due <= self._loop.time() and self._running() == 1

    async def wait(self) -> None:
        """Let others run, and wait until the next step is due."""
        self._made = 0
        await asyncio.sleep(max(_SHORTEST_WAIT, self._due - self._loop.time()))
        # What a busy machine has missed is not made up for: steps would come in floods.
        self._due = max(self._due, self._loop.time() - self._pace.real(_MOST_AT_ONCE * DECODE_STEP_SECONDS))
