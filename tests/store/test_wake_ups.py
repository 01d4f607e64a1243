"""A waiting replica hears of work at once where the database can call, and never has to."""

import asyncio
import datetime as dt
import time

import asyncpg
import pytest

from prober.domain.campaign import Trigger
from prober.domain.errors import LedgerError
from prober.domain.job import JobRequest
from prober.store import wake_ups
from prober.store.database import Database
from prober.store.jobs import JobQueue
from prober.store.wake_ups import WakeUps, listening
from tests.support.ledger import SettableClock

REQUEST = JobRequest(target="glm", trigger=Trigger.MANUAL)


async def listens(waiting: WakeUps) -> None:
    """The first news is that somebody listens."""
    assert await waiting.wait(10)


async def test_postgres_calls(postgres_database: Database, clock: SettableClock):
    """A request wakes a replica long before it would poll; so does one given back; a cancelled wait is no news."""
    queue = JobQueue(postgres_database, clock, "one")
    async with listening(postgres_database) as waiting:
        await listens(waiting)
        began = time.monotonic()
        wait = asyncio.create_task(waiting.wait(30))
        await asyncio.sleep(0)
        await queue.enqueue(REQUEST)
        assert await wait
        assert time.monotonic() - began < 5

        job = await queue.claim(["glm"], dt.timedelta(seconds=30))
        assert job is not None
        assert not await waiting.wait(0.05)
        await queue.cancel(job.job_id, "alice")
        assert await waiting.wait(10)
        await queue.give_back(job, "drained")
        assert await waiting.wait(10)


async def test_a_cut_connection_is_made_anew(
    postgres_database: Database, clock: SettableClock, monkeypatch: pytest.MonkeyPatch, postgres_server: str
):
    """Work that came while nobody listened is news as soon as somebody does."""
    monkeypatch.setattr(wake_ups, "_RETRY_SECONDS", 0.05)
    monkeypatch.setattr(wake_ups, "_CHECK_SECONDS", 0.05)
    queue = JobQueue(postgres_database, clock, "one")
    async with listening(postgres_database) as waiting:
        await listens(waiting)
        connection = await asyncpg.connect(postgres_server)
        try:
            cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query ILIKE 'LISTEN%'"
            cut += " OR query = 'SELECT true'"
            assert await connection.fetchval(cut) >= 1
        finally:
            await connection.close()
        assert await waiting.wait(10)
        await asyncio.sleep(0.5)
        await waiting.wait(0.01)
        await queue.enqueue(REQUEST)
        assert await waiting.wait(10)


async def test_sqlite_is_polled(sqlite_database: Database, clock: SettableClock):
    """Nobody calls: the wait ends by its own time, or by this process's own word."""
    queue = JobQueue(sqlite_database, clock, "one")
    async with listening(sqlite_database) as waiting:
        await queue.enqueue(REQUEST)
        assert not await waiting.wait(0.01)
        waiting.wake()
        assert await waiting.wait(10)
        assert not await waiting.wait(0.01)


async def test_sqlite_notifies_nobody(sqlite_database: Database):
    """Asking for it is a mistake that is said."""
    with pytest.raises(LedgerError, match="PostgreSQL"):
        async with sqlite_database.notices("channel", lambda: None):
            pytest.fail("listened")
