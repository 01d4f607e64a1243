"""Ways in which a database is gone for a while: each is the real condition, or SQLite's own switch for it."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import asyncpg
import sqlalchemy as sa
from sqlalchemy import event

from prober.store.database import Database
from tests.support.postgres import OwnServer

MANY_PAGES = 1_000_000


class Outage(Protocol):
    """Something that happens to a database."""

    says: str
    """Part of what the prober must say of it."""

    async def begin(self) -> None: ...

    async def end(self) -> None: ...


class FullDisk:
    """SQLite's own limit on pages: a write that needs one more fails as on a full disk (SQLITE_FULL)."""

    says = "is its disk full"

    def __init__(self, database: Database, path: Path) -> None:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            # Pages so small that every row needs some.
            for statement in ("PRAGMA journal_mode=DELETE", "PRAGMA page_size=512", "VACUUM"):
                connection.execute(statement)
        self._most = MANY_PAGES

        @event.listens_for(database._pool.sync_engine, "begin")
        def _on_begin(connection: sa.Connection) -> None:
            connection.exec_driver_sql(f"PRAGMA max_page_count={self._most}")

    async def begin(self) -> None:
        # Less than there is means: as many as there are.
        self._most = 1

    async def end(self) -> None:
        self._most = MANY_PAGES


class ReadOnlyFile:
    """Connections opened while it lasts are read-only for good, as SQLite's are on a file that cannot be written."""

    says = "takes no writes"

    def __init__(self, database: Database, path: Path) -> None:
        self._is_on = False
        self._pool = database._pool

        @event.listens_for(self._pool.sync_engine, "connect")
        def _on_connect(connection: sqlite3.Connection, _entry: object) -> None:
            if self._is_on:
                cursor = connection.cursor()
                cursor.execute("PRAGMA query_only=ON")
                cursor.close()

    async def begin(self) -> None:
        self._is_on = True
        await self._pool.dispose()

    async def end(self) -> None:
        self._is_on = False


class LockedFile:
    """Another process writes and does not let go. Set BUSY_TIMEOUT_SECONDS low before the database is opened."""

    says = "locked"

    def __init__(self, database: Database, path: Path) -> None:
        self._holder = sqlite3.connect(path, isolation_level=None)

    async def begin(self) -> None:
        self._holder.execute("BEGIN IMMEDIATE")

    async def end(self) -> None:
        self._holder.execute("ROLLBACK")
        self._holder.close()


class StoppedServer:
    """The server is killed and started again."""

    says = "server"

    def __init__(self, server: OwnServer) -> None:
        self._server = server

    async def begin(self) -> None:
        await asyncio.to_thread(self._server.stop)

    async def end(self) -> None:
        await asyncio.to_thread(self._server.start)


class ReadOnlyServer:
    """The server takes no writes any more, as after a failover to a standby."""

    says = "takes no writes"

    def __init__(self, server: OwnServer) -> None:
        self._url = server.url

    async def begin(self) -> None:
        await self._set("on")

    async def end(self) -> None:
        await self._set("off")

    async def _set(self, value: str) -> None:
        connection = await asyncpg.connect(self._url)
        try:
            await connection.execute("SET default_transaction_read_only = off")
            await connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
            await connection.execute("SELECT pg_reload_conf()")
        finally:
            await connection.close()


@contextlib.asynccontextmanager
async def ending_when(told: asyncio.Event, outage: Outage, after: float) -> AsyncIterator[None]:
    """End an outage so long after somebody told of it; at the latest behind the block."""

    async def end() -> None:
        await told.wait()
        await asyncio.sleep(after)
        await outage.end()

    ending = asyncio.create_task(end())
    try:
        yield
    finally:
        told.set()
        await ending
