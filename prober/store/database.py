"""Opens the database and keeps its faults in our own words."""

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator

import asyncpg
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from prober.domain.errors import LedgerError

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
"""Scheme of a database URL -> SQLAlchemy's name for its asynchronous driver."""

URL_FORMS = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"

BUSY_TIMEOUT_SECONDS = 10
"""How long a SQLite writer waits for another one, in this process or the next."""

CONNECT_TIMEOUT_SECONDS = 10

STATEMENT_TIMEOUT_SECONDS = 60
"""A PostgreSQL that stops answering must not hold a run for ever."""

_READS_ONLY = "prober_reads_only"

_FAULTS = (SQLAlchemyError, asyncpg.PostgresError, asyncpg.InterfaceError, sqlite3.Error, OSError)
"""Drivers raise their own exceptions while connecting, past SQLAlchemy."""


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

    def __repr__(self) -> str:
        """Name the kind only."""
        return f"Database({self.kind})"

    @contextlib.asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """One transaction: committed when the block ends, rolled back when it raises.

        Raises:
            LedgerError: the database failed; other exceptions of the block pass through.
        """
        with in_our_words():
            async with self._pool.begin() as connection:
                yield connection

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """One transaction that only reads: on SQLite it neither waits for a writer nor keeps one waiting.

        Raises:
            LedgerError: as for `begin`.
        """
        with in_our_words():
            async with self._pool.execution_options(**{_READS_ONLY: True}).begin() as connection:
                yield connection

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
    except _FAULTS as error:
        raise LedgerError(_explain(error)) from None


def _create(url: str, *, is_migrating: bool) -> tuple[str, AsyncEngine]:
    try:
        parsed = sa.make_url(url)
        driver = DRIVERS[parsed.get_backend_name()]
        is_sqlite = driver == DRIVERS["sqlite"]
        arguments: dict[str, object] = {"timeout": BUSY_TIMEOUT_SECONDS if is_sqlite else CONNECT_TIMEOUT_SECONDS}
        if not is_sqlite and not is_migrating:
            arguments["command_timeout"] = STATEMENT_TIMEOUT_SECONDS
        pool = create_async_engine(
            parsed.set(drivername=driver),
            hide_parameters=True,
            pool_pre_ping=not is_sqlite,
            connect_args=arguments,
        )
    except (ArgumentError, NoSuchModuleError, KeyError, ValueError):
        raise LedgerError(f"The database URL cannot be used; it should read {URL_FORMS}.") from None
    return ("sqlite" if is_sqlite else "postgresql"), pool


def _tame_sqlite(pool: AsyncEngine, *, enforce_foreign_keys: bool) -> None:
    """Give SQLite real transactions, several readers beside one writer, and foreign keys.

    The driver's own transaction handling commits around DDL, so a failed migration would leave half its tables; hence
    its handling is switched off and BEGIN IMMEDIATE is sent instead, which also makes writers queue rather than fail.
    """

    @event.listens_for(pool.sync_engine, "connect")
    def _on_connect(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (
            f"busy_timeout={BUSY_TIMEOUT_SECONDS * 1_000}",
            "journal_mode=WAL",
            "synchronous=FULL",
            f"foreign_keys={'ON' if enforce_foreign_keys else 'OFF'}",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(pool.sync_engine, "begin")
    def _on_begin(connection: sa.Connection) -> None:
        reads_only = connection.get_execution_options().get(_READS_ONLY, False)
        connection.exec_driver_sql("BEGIN" if reads_only else "BEGIN IMMEDIATE")


_ADVICE = (
    (
        ("no such table", "no such column", "undefinedtable", "undefinedcolumn"),
        "has no (or an older) schema; run `prober db upgrade`",
    ),
    (("locked",), "stayed locked by another process for too long"),
    (("unable to open", "readonly"), "file cannot be opened for writing; check its folder and permissions"),
    (("disk is full", "disk i/o error", "diskfull"), "cannot be written; is its disk full?"),
    (("not a database",), "file is no SQLite database"),
    (("invalidpassword", "invalidauthorization"), "refuses our name or password"),
    (("invalidcatalogname",), "does not exist on that server"),
    (("integrity", "uniqueviolation", "foreignkeyviolation"), "refused a row that contradicts others"),
)
"""Marks in the fault's class names or in SQLite's fixed texts -> what to tell. The text itself is never shown."""


def _explain(error: Exception) -> str:
    """Tell faults apart that are mended in different places; name the classes of the rest."""
    origin = getattr(error, "orig", None) or error
    cause = getattr(origin, "__cause__", None) or origin
    classes = list(dict.fromkeys(type(fault).__name__ for fault in (error, origin, cause)))
    marks = " ".join(classes).lower()
    if isinstance(cause, sqlite3.Error):
        marks += f" {cause}".lower()
    for known, advice in _ADVICE:
        if any(mark in marks for mark in known):
            return f"The database {advice}."
    if isinstance(error, OSError):
        return f"The database cannot be reached ({type(error).__name__})."
    return f"The database failed ({', '.join(classes)})."
