"""Random moments of a process's life: told by its log, so that a busy machine does not move them."""

import asyncio
import dataclasses
import itertools
import random
import signal
from collections.abc import Sequence

LIFE_SECONDS = 120.0


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """So many lines into the log, and then so much of the time that the next line took in an undisturbed life."""

    lines: int
    fraction: float


def draw(count: int, lines: int, seed: int) -> tuple[Moment, ...]:
    """Moments spread over a life of so many log lines, one in each of `count` equal parts of it."""
    dice = random.Random(seed)
    moments = []
    for number in range(count):
        place = (number + dice.random()) / count * lines
        moments.append(Moment(lines=int(place), fraction=place % 1))
    dice.shuffle(moments)
    return tuple(moments)


async def gaps(process: asyncio.subprocess.Process) -> tuple[float, ...]:
    """Let it live; gives the seconds before each line of its log, and before its end."""
    loop = asyncio.get_running_loop()
    times = [loop.time()]
    async with asyncio.timeout(LIFE_SECONDS):
        if process.stderr is not None:
            times += [loop.time() async for _ in process.stderr]
        await process.wait()
    times.append(loop.time())
    return tuple(later - sooner for sooner, later in itertools.pairwise(times))


async def kill_at(process: asyncio.subprocess.Process, moment: Moment, undisturbed: Sequence[float]) -> bool:
    """SIGKILL at that moment; False where the process had ended by then."""
    async with asyncio.timeout(LIFE_SECONDS):
        for _ in range(moment.lines):
            if process.stderr is None or not await process.stderr.readline():
                break
        await asyncio.sleep(undisturbed[min(moment.lines, len(undisturbed) - 1)] * moment.fraction)
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        return await process.wait() == -signal.SIGKILL
