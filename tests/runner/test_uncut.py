"""Writing down what was seen outlasts one cancellation, and no more."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from prober.domain.errors import LeaseLostError
from prober.runner.uncut import COMPONENT, uncut
from tests.support.ports import RecordingTelemetry


class Work:
    """Begins, waits to be let go, ends as it is told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.error = error
        self.has_ended = False
        self.was_cut = False

    async def __call__(self) -> str:
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.was_cut = True
            raise
        self.has_ended = True
        if self.error is not None:
            raise self.error
        return "done"


@pytest.fixture
def telemetry() -> RecordingTelemetry:
    return RecordingTelemetry([])


@pytest.fixture
def begin(telemetry: RecordingTelemetry) -> Callable[[Work], Awaitable[asyncio.Task[str]]]:
    async def begin_and_wait(work: Work) -> asyncio.Task[str]:
        task = asyncio.create_task(uncut(work(), telemetry))
        await work.begun.wait()
        return task

    return begin_and_wait


Begin = Callable[[Work], Awaitable[asyncio.Task[str]]]


async def test_undisturbed_it_is_as_if_it_were_not_there(begin: Begin, telemetry: RecordingTelemetry):
    """What the work gives or raises comes out, and is reported by nobody."""
    good, bad = Work(), Work(ZeroDivisionError())
    first, second = await begin(good), await begin(bad)
    good.may_end.set()
    bad.may_end.set()
    assert await first == "done"
    with pytest.raises(ZeroDivisionError):
        await second
    assert telemetry.errors == []


async def test_a_cancellation_waits_for_the_work_and_goes_on(begin: Begin):
    """The task is cancelled in the end, its work done."""
    work = Work()
    task = await begin(work)
    task.cancel()
    await asyncio.sleep(0.01)
    assert not task.done()
    work.may_end.set()
    await asyncio.wait([task], timeout=10)

    assert task.cancelled()
    assert work.has_ended


async def test_a_second_cancellation_ends_the_work(begin: Begin):
    """Whoever insists is obeyed, and nothing goes on behind the task."""
    work = Work()
    task = await begin(work)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task], timeout=10)

    assert task.cancelled()
    assert work.was_cut


@pytest.mark.parametrize(("error", "told"), [(ZeroDivisionError(), 1), (LeaseLostError("lost"), 0)])
async def test_a_fault_that_the_cancellation_hides_is_reported(
    begin: Begin, telemetry: RecordingTelemetry, error: Exception, told: int
):
    """Our own faults are counted; a job that is another's is none."""
    work = Work(error)
    task = await begin(work)
    task.cancel()
    await asyncio.sleep(0)
    work.may_end.set()
    await asyncio.wait([task], timeout=10)

    assert task.cancelled()
    assert telemetry.errors == [(COMPONENT, error)] * told
