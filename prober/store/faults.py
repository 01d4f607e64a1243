"""Faults of the database in our own words: what happened, what to do, and whether it may pass."""

import dataclasses
import sqlite3
from typing import Final

import asyncpg
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from prober.domain.errors import LedgerError, LedgerGoneError

FAULTS: Final = (SQLAlchemyError, asyncpg.PostgresError, asyncpg.InterfaceError, sqlite3.Error, OSError)
"""Drivers raise their own exceptions while connecting, past SQLAlchemy."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Advice:
    """One kind of fault."""

    marks: tuple[str, ...]
    """Parts of the fault's class names or of SQLite's fixed texts, in lower case; the text itself is never shown."""
    words: str
    passes: bool = False


_ADVICE: Final = (
    _Advice(
        ("no such table", "no such column", "undefinedtable", "undefinedcolumn"),
        "has no (or an older) schema; run `prober db upgrade`",
    ),
    _Advice(("not a database",), "file is no SQLite database"),
    _Advice(("malformed",), "file is damaged; restore it from a backup (`prober db restore`)"),
    _Advice(("invalidpassword", "invalidauthorization"), "refuses our name or password"),
    _Advice(("invalidcatalogname",), "does not exist on that server"),
    _Advice(("integrity", "uniqueviolation", "foreignkeyviolation"), "refused a row that contradicts others"),
    _Advice(("locked", "locknotavailable", "deadlock"), "stayed locked by another process for too long", passes=True),
    _Advice(("unable to open",), "file cannot be opened for writing; check its folder and permissions", passes=True),
    _Advice(
        ("readonly",),
        "takes no writes: on SQLite the file cannot be opened for writing (check its mount, folder and permissions), "
        "on PostgreSQL the server is a standby or read-only",
        passes=True,
    ),
    _Advice(
        ("disk is full", "disk i/o error", "diskfull"),
        "cannot be written; is its disk full? Free some space there",
        passes=True,
    ),
    _Advice(
        ("toomanyconnections",),
        "server has no connection left for us; raise its max_connections or run fewer replicas",
        passes=True,
    ),
    _Advice(
        ("idleintransaction",),
        "ended a transaction that stood still; was this process paused, or its event loop blocked?",
        passes=True,
    ),
    _Advice(("adminshutdown", "crashshutdown", "cannotconnectnow"), "server is shutting down or starting", passes=True),
)


def explain(error: Exception) -> LedgerError:
    """Tell faults apart that are mended in different places; name the classes of the rest.

    Args:
        error: one of `FAULTS`. Its text may hold SQL, parameters and the URL, and is not told.

    Returns:
        LedgerGoneError where waiting may help: the server is away, the disk full, the file locked or read-only.
    """
    origin = getattr(error, "orig", None) or error
    cause = getattr(origin, "__cause__", None) or origin
    classes = list(dict.fromkeys(type(fault).__name__ for fault in (error, origin, cause)))
    marks = " ".join(classes).lower()
    if isinstance(cause, sqlite3.Error):
        marks += f" {cause}".lower()
    for advice in _ADVICE:
        if any(mark in marks for mark in advice.marks):
            return (LedgerGoneError if advice.passes else LedgerError)(f"The database {advice.words}.")
    if isinstance(cause, OSError):
        return LedgerGoneError(
            f"The database cannot be reached ({type(cause).__name__}); is its server up, and `database` right?"
        )
    if _is_cut(error, cause):
        return LedgerGoneError(f"The database cut the connection ({', '.join(classes)}); is its server up?")
    return LedgerError(f"The database failed ({', '.join(classes)}).")


def _is_cut(error: Exception, cause: BaseException) -> bool:
    """Tell a connection that broke, or that there was none to be had, from a statement that was refused."""
    if isinstance(error, PoolTimeoutError) or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return True
    broken = (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.OperatorInterventionError)
    transient = (asyncpg.InsufficientResourcesError, asyncpg.SerializationError, asyncpg.PostgresSystemError)
    # The driver's own objection to a value is an InterfaceError too, and stays one.
    return isinstance(cause, broken + transient) and not isinstance(cause, ValueError)
