import asyncio

import pytest

from prober.lab.batch.step_clock import StepClock
from prober.lab.timing import DECODE_STEP_SECONDS, PREFILL_SECONDS_PER_TOKEN, Pace


def clock(scale: float, running: int = 1, prefilled: int = 0) -> StepClock:
    return StepClock(Pace(scale, 0.0, 0), lambda: running, lambda: prefilled)


async def steps(paced: StepClock, count: int) -> tuple[float, int]:
    """Seconds of so many steps, and waits among them."""
    begun, waits = asyncio.get_running_loop().time(), 0
    for _ in range(count):
        paced.advance()
        if not paced.is_due():
            await paced.wait()
            waits += 1
    return asyncio.get_running_loop().time() - begun, waits


async def test_steps_take_their_virtual_time():
    """Where a step is longer than a timer's resolution, each is waited for and none comes early."""
    seconds, waits = await steps(clock(1.0), 5)
    assert waits == 5
    assert seconds >= 5 * DECODE_STEP_SECONDS


async def test_short_steps_are_made_a_few_at_a_time():
    """Far below a timer's resolution a row that runs alone waits once per few steps."""
    _, waits = await steps(clock(1e-6), 40)
    assert waits == 10


async def test_in_company_every_step_waits():
    """With others in the batch each step lets them run, so that rows come and go in mid-answer."""
    _, waits = await steps(clock(1e-6, running=2), 10)
    assert waits == 10


async def test_a_chunk_beside_lengthens_a_step():
    """A step that shares the machine with a prefill chunk lasts as much longer as the chunk costs."""
    tokens = 1_024
    seconds, _ = await steps(clock(1.0, prefilled=tokens), 3)
    assert seconds >= 3 * (DECODE_STEP_SECONDS + tokens * PREFILL_SECONDS_PER_TOKEN)


@pytest.mark.parametrize("restarts", [False, True])
async def test_what_was_missed_is_not_made_up_for(restarts: bool):  # noqa: FBT001 - a case of the test
    """After a long stall steps come at their pace again, not in a flood."""
    paced = clock(1.0)
    paced.advance()
    await asyncio.sleep(12 * DECODE_STEP_SECONDS)
    if restarts:
        paced.restart()
    else:
        await paced.wait()
    seconds, _ = await steps(paced, 10)
    assert seconds >= 5 * DECODE_STEP_SECONDS
