"""Runs a verb's work so that an interrupt ends it in order: Ctrl-C, and the SIGTERM of CI runners and containers."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

Returned = TypeVar("Returned")


def run_interruptible(work: Coroutine[Any, Any, Returned]) -> Returned:
    """Run to the end; an interrupt cancels the work, which then closes what it has open.

    Raises:
        KeyboardInterrupt: the work was interrupted, by whichever signal.
    """
    try:
        return asyncio.run(_cancelled_by_sigterm(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _cancelled_by_sigterm(work: Coroutine[Any, Any, Returned]) -> Returned:
    with _sigterm_cancels(asyncio.get_running_loop()):
        return await work


@contextlib.contextmanager
def _sigterm_cancels(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    task = asyncio.current_task(loop)
    if task is None:
        raise RuntimeError("there is no task to cancel")
    try:
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    except (NotImplementedError, RuntimeError, ValueError):
        # Signals reach the main thread only, and not every platform's loop can wait for them.
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
