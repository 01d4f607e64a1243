"""Wakes a replica as soon as there may be something to claim: PostgreSQL's notifications, with polling behind them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from prober.domain.errors import LedgerError
from prober.store.database import Database
from prober.store.job_rows import CHANNEL

_RETRY_SECONDS = 5.0
_CHECK_SECONDS = 30.0


class WakeUps:
    """Waits for news. A lost notification costs one polling interval, never a job."""

    def __init__(self) -> None:
        self._news = asyncio.Event()

    def wake(self) -> None:
        """End the wait under way, or the next one."""
        self._news.set()

    async def wait(self, seconds: float) -> bool:
        """Wait for news, at most so long; tells whether there was any."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        was_woken = self._news.is_set()
        self._news.clear()
        return was_woken


@contextlib.asynccontextmanager
async def listening(database: Database) -> AsyncIterator[WakeUps]:
    """Listen on PostgreSQL, reconnecting for ever; on SQLite nobody calls, and `wait` is a poll."""
    wake_ups = WakeUps()
    if database.kind != "postgresql":
        yield wake_ups
        return
    listener = asyncio.create_task(_listen(database, wake_ups))
    try:
        yield wake_ups
    finally:
        listener.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listener


async def _listen(database: Database, wake_ups: WakeUps) -> None:
    while True:
        with contextlib.suppress(LedgerError):
            await _listen_once(database, wake_ups)
        await asyncio.sleep(_RETRY_SECONDS)


async def _listen_once(database: Database, wake_ups: WakeUps) -> None:
    """Listen until the connection fails."""
    async with database.notices(CHANNEL, wake_ups.wake) as is_alive:
        # What was announced while nobody listened.
        wake_ups.wake()
        while await is_alive():  # noqa: ASYNC110 - it is asked, since a connection that hangs says nothing by itself
            await asyncio.sleep(_CHECK_SECONDS)
