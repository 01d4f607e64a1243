"""What a replica holds."""

import asyncio

from prober.service.holdings import Cut, Held, Holdings
from tests.support.holding import a_job


async def test_a_run_is_cut_once_and_only_while_it_runs():
    """The first reason stands; a verdict that is there is not taken back."""
    holdings = Holdings()
    going_on = Held(a_job(1), asyncio.create_task(asyncio.sleep(3_600)), 0.0)  # type: ignore[arg-type]
    done = Held(a_job(2), asyncio.create_task(asyncio.sleep(0)), 0.0)  # type: ignore[arg-type]
    holdings.add(going_on)
    holdings.add(done)
    await done.run
    holdings.cut_all(Cut.CANCELLED)
    holdings.cut_all(Cut.DRAINED)
    await asyncio.wait([going_on.run])

    assert (going_on.why_cut, done.why_cut) == (Cut.CANCELLED, None)
    assert going_on.run.cancelled()
    assert not done.run.cancelled()
    assert len(holdings) == 2
    holdings.drop(done)
    holdings.drop(done)
    assert holdings.all() == (going_on,)
