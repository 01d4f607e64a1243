"""Keeps the service's loops turning: one that fails is reported and started again."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

RESTART_SECONDS = 5.0

Loop = Callable[[], Awaitable[None]]
"""Runs until it is cancelled, or is done."""


@contextlib.asynccontextmanager
async def supervised(
    loops: Mapping[str, Loop], report_fault: Callable[[str, BaseException], None]
) -> AsyncIterator[None]:
    """Run loops beside the block, and end them behind it.

    Args:
        loops: by name, under which a fault is reported.
        report_fault: takes a fault of our own: component and exception.
    """
    tasks = [asyncio.create_task(_keep(name, loop, report_fault), name=name) for name, loop in loops.items()]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def _keep(name: str, loop: Loop, report_fault: Callable[[str, BaseException], None]) -> None:
    while True:
        try:
            await loop()
        except Exception as error:  # noqa: BLE001 - whatever it was, the other loops go on and this one begins anew
            report_fault(name, error)
            await asyncio.sleep(RESTART_SECONDS)
        else:
            return
