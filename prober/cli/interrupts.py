"""Runs a verb's work so that an interrupt ends it in order: Ctrl-C, and the SIGTERM of CI runners and containers."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

CLOSE_SECONDS = 10.0
"""What interrupted work gets to close what it has open; a second interrupt ends it at once."""

Returned = TypeVar("Returned")


def run_interruptible(work: Coroutine[Any, Any, Returned]) -> Returned:
    """Run to the end; an interrupt cancels the work, which then closes what it has open.

    Work that has not ended `CLOSE_SECONDS` later, or when another interrupt comes, is cancelled once more: a run then
    waits no longer for its database.

    Raises:
        KeyboardInterrupt: the work was interrupted, by whichever signal.
    """
    try:
        return asyncio.run(_cancelled_by_signals(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _cancelled_by_signals(work: Coroutine[Any, Any, Returned]) -> Returned:
    with _signals_cancel(asyncio.get_running_loop()):
        return await work


@contextlib.contextmanager
def _signals_cancel(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    task = asyncio.current_task(loop)
    if task is None:
        raise RuntimeError("there is no task to cancel")
    again: list[asyncio.TimerHandle] = []

    def interrupt() -> None:
        again.append(loop.call_later(CLOSE_SECONDS, task.cancel))
        task.cancel()

    handled = []
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, interrupt)
            handled.append(number)
    except (NotImplementedError, RuntimeError, ValueError):
        # Signals reach the main thread only, and not every platform's loop can wait for them.
        pass
    try:
        yield
    finally:
        for timer in again:
            timer.cancel()
        for number in handled:
            loop.remove_signal_handler(number)
