"""Opens the database and keeps its faults in our own words."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import aiosqlite
import asyncpg
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from prober.domain.errors import LedgerError, LedgerGoneError
from prober.store.faults import FAULTS, explain

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
"""Scheme of a database URL -> SQLAlchemy's name for its asynchronous driver."""

URL_FORMS = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"

BUSY_TIMEOUT_SECONDS = 10
"""How long a SQLite writer waits for another one, in this process or the next."""

CONNECT_TIMEOUT_SECONDS = 10

STANDSTILL_SECONDS = 15
"""PostgreSQL ends a transaction that sends nothing for so long: a replica that is paused in the middle of one must not
hold its locks, for which the replica that takes its work over would wait. Ours hold no wait of their own."""

STATEMENT_TIMEOUT_SECONDS = 60
"""A PostgreSQL that stops answering must not hold a run for ever."""

_READS_ONLY = "prober_reads_only"
_THREAD_END_SECONDS = 5.0


class Database:
    """One open database. Its URL, which may hold a password, is never shown."""

    def __init__(self, url: str, *, is_migrating: bool = False) -> None:
        """Prepare to connect; nothing is opened yet.

        Args:
            url: `sqlite:///path/to/file` or `postgresql://user:password@host:port/name`.
            is_migrating: rebuilding a table must not cascade into its children, and may take its time.

        Raises:
            LedgerError: the URL is none, or names another kind of database.
        """
        self.kind, self._pool = _create(url, is_migrating=is_migrating)
        if self.kind == "sqlite":
            _tame_sqlite(self._pool, enforce_foreign_keys=not is_migrating)
        else:
            _bound_standstill(self._pool)

    def __repr__(self) -> str:
        """Name the kind only."""
        return f"Database({self.kind})"

    @contextlib.asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """One transaction: committed when the block ends, rolled back when it raises.

        Raises:
            LedgerError: the database failed; other exceptions of the block pass through. LedgerGoneError where waiting
                may help: it says whether the transaction may stand all the same.
        """
        is_committing = False
        try:
            with in_our_words():
                async with self._pool.begin() as connection:
                    yield connection
                    is_committing = True
        except LedgerGoneError as error:
            error.is_in_doubt = is_committing
            await self._connect_anew()
            raise

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """One transaction that only reads: on SQLite it neither waits for a writer nor keeps one waiting.

        Raises:
            LedgerError: as for `begin`.
        """
        with in_our_words():
            async with self._pool.execution_options(**{_READS_ONLY: True}).begin() as connection:
                yield connection

    @contextlib.asynccontextmanager
    async def notices(self, channel: str, tell: Callable[[], None]) -> AsyncIterator[Callable[[], Awaitable[bool]]]:
        """Listen on a channel of PostgreSQL's with a connection of its own; yields a check that it still lives.

        Raises:
            LedgerError: the database failed, or is of a kind that notifies nobody.
        """
        with in_our_words():
            async with self._pool.connect() as connection:
                driver = (await connection.get_raw_connection()).driver_connection
                if not isinstance(driver, asyncpg.Connection):
                    raise LedgerError("Only PostgreSQL notifies.")
                # The channel, sender and payload say nothing that is needed.
                await driver.add_listener(channel, lambda *_: tell())
                driver.add_termination_listener(lambda _: tell())

                async def is_alive() -> bool:
                    with in_our_words():
                        return not driver.is_closed() and await driver.fetchval("SELECT true", timeout=10)

                try:
                    yield is_alive
                finally:
                    # The pool must not get a connection back that listens.
                    await connection.invalidate()

    async def _connect_anew(self) -> None:
        """Use no idle connection to a file again: one opened while the file took no writes never will."""
        if self.kind == "sqlite":
            with contextlib.suppress(*FAULTS):
                await self._pool.dispose()

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.dispose()


@contextlib.contextmanager
def in_our_words() -> Iterator[None]:
    """Turn a fault of the database into a LedgerError that holds no SQL, no parameter and no URL.

    The cause is cut off on purpose: its text may hold all three.
    """
    try:
        yield
    except FAULTS as error:
        raise explain(error) from None


def _create(url: str, *, is_migrating: bool) -> tuple[str, AsyncEngine]:
    try:
        parsed = sa.make_url(url)
        driver = DRIVERS[parsed.get_backend_name()]
        is_sqlite = driver == DRIVERS["sqlite"]
        arguments: dict[str, object] = {"timeout": BUSY_TIMEOUT_SECONDS if is_sqlite else CONNECT_TIMEOUT_SECONDS}
        if not is_sqlite and not is_migrating:
            arguments["command_timeout"] = STATEMENT_TIMEOUT_SECONDS
        options: dict[str, object] = {}
        if is_sqlite:
            arguments = {"async_creator_fn": _connect_sqlite, **arguments}
        else:
            # Whatever the server's default: claims, slots, folding and budgets read what stands after their wait for
            # a lock, which a snapshot taken before it would not show.
            options["isolation_level"] = "READ COMMITTED"
        pool = create_async_engine(
            parsed.set(drivername=driver),
            hide_parameters=True,
            pool_pre_ping=not is_sqlite,
            connect_args=arguments,
            **options,
        )
    except (ArgumentError, NoSuchModuleError, KeyError, ValueError):
        raise LedgerError(f"The database URL cannot be used; it should read {URL_FORMS}.") from None
    return ("sqlite" if is_sqlite else "postgresql"), pool


async def _connect_sqlite(path: str, **arguments: Any) -> aiosqlite.Connection:  # noqa: ANN401 - sqlite3.connect's
    """Open a file. A failed attempt leaves no thread behind, which would report to an event loop closed by then."""
    connection = aiosqlite.connect(path, **arguments)
    thread = connection._thread  # noqa: SLF001 - SQLAlchemy's own creator does the same
    thread.daemon = True
    try:
        return await connection
    except BaseException:
        await asyncio.to_thread(thread.join, _THREAD_END_SECONDS)
        raise


def _bound_standstill(pool: AsyncEngine) -> None:
    """Set it once connected: as a parameter of the connection, poolers in between would refuse it."""

    @event.listens_for(pool.sync_engine, "connect")
    def _on_connect(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute(f"SET idle_in_transaction_session_timeout = '{STANDSTILL_SECONDS}s'")
        cursor.close()
        connection.commit()


def _tame_sqlite(pool: AsyncEngine, *, enforce_foreign_keys: bool) -> None:
    """Give SQLite real transactions, several readers beside one writer, and foreign keys.

    The driver's own transaction handling commits around DDL, so a failed migration would leave half its tables; hence
    its handling is switched off and BEGIN IMMEDIATE is sent instead, which also makes writers queue rather than fail.
    """

    @event.listens_for(pool.sync_engine, "connect")
    def _on_connect(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None
        try:
            _set_up(connection, enforce_foreign_keys=enforce_foreign_keys)
        except BaseException:
            # The pool forgets a connection whose set-up failed, and its thread would outlive the event loop.
            connection.close()
            raise

    @event.listens_for(pool.sync_engine, "begin")
    def _on_begin(connection: sa.Connection) -> None:
        reads_only = connection.get_execution_options().get(_READS_ONLY, False)
        connection.exec_driver_sql("BEGIN" if reads_only else "BEGIN IMMEDIATE")


def _set_up(connection: sqlite3.Connection, *, enforce_foreign_keys: bool) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA page_count")
    if cursor.fetchone() == (0,):
        # Decides, before anything is written, that the file can shrink; in an old one it would only wait for writers.
        cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
    for pragma in (
        f"busy_timeout={BUSY_TIMEOUT_SECONDS * 1_000}",
        "journal_mode=WAL",
        "synchronous=FULL",
        f"foreign_keys={'ON' if enforce_foreign_keys else 'OFF'}",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
