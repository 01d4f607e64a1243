"""Opens the database and keeps its faults in our own words."""

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import (
    ArgumentError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from prober.domain.errors import LedgerError

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
"""Scheme of a database URL -> SQLAlchemy's name for its asynchronous driver."""

BUSY_TIMEOUT_SECONDS = 10
"""How long a SQLite writer waits for another one, in this process or the next."""

CONNECT_TIMEOUT_SECONDS = 10


class Database:
    """One open database. Its URL, which may hold a password, is never shown."""

    def __init__(self, url: str, *, enforce_foreign_keys: bool = True) -> None:
        """Prepare to connect; nothing is opened yet.

        Args:
            url: `sqlite:///path/to/file` or `postgresql://user:password@host:port/name`.
            enforce_foreign_keys: False for migrations: rebuilding a table must not cascade into its children.

        Raises:
            LedgerError: the URL is none, or names another kind of database.
        """
        self.kind, self._pool = _create(url)
        if self.kind == "sqlite":
            _tame_sqlite(self._pool, enforce_foreign_keys=enforce_foreign_keys)

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
    except IntegrityError as error:
        raise LedgerError(f"The database refused a row that contradicts others ({_origin(error)}).") from None
    except (ProgrammingError, OperationalError) as error:
        raise LedgerError(_explain(error)) from None
    except SQLAlchemyError as error:
        raise LedgerError(f"The database failed ({_origin(error)}).") from None
    except OSError as error:
        raise LedgerError(f"The database cannot be reached ({type(error).__name__}).") from None


def _create(url: str) -> tuple[str, AsyncEngine]:
    try:
        parsed = sa.make_url(url)
        scheme = parsed.get_backend_name()
        driver = DRIVERS[scheme]
        is_sqlite = driver == DRIVERS["sqlite"]
        timeout = {"timeout": BUSY_TIMEOUT_SECONDS if is_sqlite else CONNECT_TIMEOUT_SECONDS}
        pool = create_async_engine(
            parsed.set(drivername=driver),
            hide_parameters=True,
            pool_pre_ping=not is_sqlite,
            connect_args=timeout,
        )
    except (ArgumentError, NoSuchModuleError, KeyError, ValueError):
        known = " or ".join(sorted({"sqlite:///FILE", "postgresql://USER:PASSWORD@HOST/NAME"}))
        raise LedgerError(f"The database URL cannot be used; it should read {known}.") from None
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
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _explain(error: ProgrammingError | OperationalError) -> str:
    """Tell a missing schema, a locked file and a closed door apart: each is mended elsewhere."""
    text = str(error.orig).lower()
    if "no such table" in text or "no such column" in text or "does not exist" in text:
        return "The database has no (or an older) schema; run `prober db upgrade`."
    if "locked" in text:
        return f"The database file stayed locked by another process for {BUSY_TIMEOUT_SECONDS} s."
    if "unable to open" in text or "readonly" in text:
        return "The database file cannot be opened for writing; check its folder and permissions."
    return f"The database failed ({_origin(error)})."


def _origin(error: SQLAlchemyError) -> str:
    """Class names only."""
    origin = getattr(error, "orig", None)
    return type(error).__name__ if origin is None else f"{type(error).__name__}: {type(origin).__name__}"
