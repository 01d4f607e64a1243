"""Paused sessions are ended, working ones are not."""

import asyncio

import asyncpg

from prober.store.database import Database
from prober.store.standstill import end_standstills

LOCK = "SELECT pg_advisory_xact_lock(4711)"


async def test_a_session_that_stands_still_in_a_transaction_loses_its_locks(empty_postgres: str):
    """Whoever waits for them gets them; sessions at work, or idle outside a transaction, go on."""
    database, address = Database(empty_postgres), empty_postgres.replace("+asyncpg", "")
    paused, working, idle = [await asyncpg.connect(address) for _ in range(3)]
    try:
        await paused.execute("BEGIN")
        await paused.execute(LOCK)
        await idle.execute("SELECT 1")
        at_work = asyncio.create_task(working.execute("BEGIN; SELECT pg_sleep(3); COMMIT"))
        assert await end_standstills(database, seconds=1) == 0
        await asyncio.sleep(1.5)
        assert await end_standstills(database, seconds=1) == 1

        async with asyncio.timeout(10):
            await idle.execute(LOCK)
        async with asyncio.timeout(10):
            while not paused.is_closed():  # noqa: ASYNC110 - the driver tells nobody
                await asyncio.sleep(0.05)
        await at_work
    finally:
        for connection in (paused, working, idle):
            connection.terminate()
        await database.close()


async def test_on_sqlite_nobody_is_ended(sqlite_database: Database):
    """Its locks are the kernel's, which waits for nobody that was stopped for longer than the busy time-out."""
    assert await end_standstills(sqlite_database) == 0
