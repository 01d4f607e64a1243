"""A SQLite ledger's copies: taken while runs write to it, checked, and put back."""

import asyncio
import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from prober.domain.errors import LedgerError
from prober.store.database import in_our_words

NOT_SQLITE = "This database is on PostgreSQL, which has its own tools: pg_dump and pg_restore (docs/backup.md)."
DAMAGED = (
    "What stands in the database's place is damaged, or is no database, so that nobody can tell whether something has "
    "it open: stop the prober, move the file away together with its -wal and -shm, and restore again."
)
WAIT_SECONDS = 10.0
"""How long to wait for whoever has the database locked."""

_OWNER_ONLY = 0o600


def ledger_file(url: str) -> Path:
    """File of a SQLite database.

    Raises:
        LedgerError: the database is of another kind, or in memory.
    """
    parsed = sa.make_url(url)
    if parsed.get_backend_name() != "sqlite":
        raise LedgerError(NOT_SQLITE)
    if parsed.database in {None, "", ":memory:"}:
        raise LedgerError("This database is in memory only; there is nothing to copy.")
    return Path(str(parsed.database))


async def back_up(url: str, copy: Path) -> None:
    """Write a compact, consistent copy of the database as it stands now, mode 0600; runs may go on meanwhile.

    Raises:
        LedgerError: the database cannot be read, or the copy exists or cannot be written.
    """
    await asyncio.to_thread(_back_up, ledger_file(url), copy)


async def restore(url: str, copy: Path) -> None:
    """Put a copy in the database's place, whole or not at all. Nothing else may have the database open.

    Raises:
        LedgerError: the copy is no sound ledger, the database is in use, or its place exists and `copy` is it.
    """
    await asyncio.to_thread(_restore, ledger_file(url), copy)


def _back_up(source: Path, copy: Path) -> None:
    if copy.exists():
        raise LedgerError("The copy's file exists already and was left as it is.")
    draft = _draft_beside(copy)
    with in_our_words(), _open(source) as connection, _removed(draft):
        connection.execute("VACUUM INTO ?", (str(draft),))
        _check(draft)
        _settle(draft, copy)


def _restore(place: Path, copy: Path) -> None:
    draft = _draft_beside(place)
    with in_our_words(), _removed(draft):
        with _open(copy) as connection:
            connection.execute("VACUUM INTO ?", (str(draft),))
        _check(draft)
        _require_unused(place)
        for left in (place.with_name(f"{place.name}-wal"), place.with_name(f"{place.name}-shm")):
            left.unlink(missing_ok=True)
        _settle(draft, place)


@contextlib.contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file that must be there; SQLite would make it otherwise."""
    if not path.is_file():
        raise LedgerError("There is no such database file.")
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=WAIT_SECONDS, isolation_level=None
    )
    try:
        # A copy can give space back, whatever the original could.
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        yield connection
    finally:
        connection.close()


def _check(path: Path) -> None:
    """Refuse a file that is damaged, or holds something else."""
    with _open(path) as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        connection.execute("PRAGMA journal_mode=WAL")
    if verdict != "ok" or not {"runs", "alembic_version"} <= tables:
        raise LedgerError("The copy is damaged, or is no database of the prober's.")


def _require_unused(place: Path) -> None:
    """A process that has the file open would go on writing to what is no longer there."""
    if not place.is_file():
        return
    try:
        with _open(place) as connection:
            # An exclusive lock in rollback mode is granted to the only one who has the file open.
            (mode,) = connection.execute("PRAGMA journal_mode=DELETE").fetchone()
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise LedgerError(DAMAGED) from None
    if mode != "delete":
        raise LedgerError("The database is in use; stop the prober before its database is replaced.")


@contextlib.contextmanager
def _removed(draft: Path) -> Iterator[None]:
    """Leave no half of a copy behind."""
    try:
        yield
    finally:
        for name in (draft.name, f"{draft.name}-wal", f"{draft.name}-shm"):
            draft.with_name(name).unlink(missing_ok=True)


def _draft_beside(path: Path) -> Path:
    """An empty file of the owner's alone, in the same folder, for SQLite to fill."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with in_our_words():
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, _OWNER_ONLY))
    return draft


def _settle(draft: Path, place: Path) -> None:
    """Rename, and have it survive a power failure."""
    _sync(draft)
    draft.replace(place)
    _sync(place.parent)


def _sync(path: Path) -> None:
    """Have a file's content, or a folder's entries, on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
