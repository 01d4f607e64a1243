"""Faults of the database: told in our own words, with a remedy, and apart by whether waiting may help."""

import sqlite3

import asyncpg
import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from prober.domain.errors import LedgerGoneError
from prober.store.faults import FAULTS, explain

SECRET = "hunter2-pa55word"
STATEMENT = f"SELECT '{SECRET}'"


def by_driver(cause: Exception, wrapped: type[DBAPIError] = OperationalError) -> DBAPIError:
    """As SQLAlchemy raises it."""
    return wrapped(STATEMENT, {"value": SECRET}, cause)


GONE = [
    (by_driver(sqlite3.OperationalError("database or disk is full")), "disk full"),
    (by_driver(sqlite3.OperationalError("disk I/O error")), "disk full"),
    (by_driver(sqlite3.OperationalError("attempt to write a readonly database")), "mount"),
    (by_driver(sqlite3.OperationalError("unable to open database file")), "folder and permissions"),
    (by_driver(sqlite3.OperationalError("database is locked")), "locked"),
    (by_driver(asyncpg.DiskFullError("x")), "disk full"),
    (by_driver(asyncpg.ReadOnlySQLTransactionError("x")), "standby"),
    (by_driver(asyncpg.DeadlockDetectedError("x")), "locked"),
    (by_driver(asyncpg.ConnectionDoesNotExistError("x")), "is its server up"),
    (by_driver(asyncpg.InterfaceError("connection is closed")), "is its server up"),
    (by_driver(asyncpg.OutOfMemoryError("x")), "is its server up"),
    (asyncpg.TooManyConnectionsError("x"), "max_connections"),
    (asyncpg.AdminShutdownError("x"), "shutting down or starting"),
    (asyncpg.CannotConnectNowError("x"), "shutting down or starting"),
    (ConnectionRefusedError(SECRET), "is its server up"),
    (TimeoutError(), "is its server up"),
    (by_driver(TimeoutError()), "is its server up"),
    (PoolTimeoutError("x"), "is its server up"),
]
STAYING = [
    (by_driver(sqlite3.OperationalError("no such table: runs")), "prober db upgrade"),
    (by_driver(asyncpg.UndefinedTableError("x")), "prober db upgrade"),
    (by_driver(sqlite3.DatabaseError("file is not a database")), "no SQLite database"),
    (by_driver(sqlite3.DatabaseError("database disk image is malformed")), "prober db restore"),
    (by_driver(sqlite3.IntegrityError("x"), IntegrityError), "contradicts"),
    (by_driver(asyncpg.UniqueViolationError("x"), IntegrityError), "contradicts"),
    (asyncpg.InvalidPasswordError("x"), "refuses our name or password"),
    (asyncpg.InvalidCatalogNameError("x"), "does not exist"),
    (by_driver(asyncpg.DataError(SECRET)), "failed"),
    (by_driver(sqlite3.OperationalError(f"near {SECRET}: syntax error")), "failed"),
]


@pytest.mark.parametrize(("error", "words"), GONE, ids=lambda value: repr(value)[:40])
def test_what_may_pass_is_told_apart(error: Exception, words: str):
    """Full, locked, read-only, away: a run waits for these, and is told what to mend meanwhile."""
    told = explain(error)
    assert isinstance(error, FAULTS)
    assert isinstance(told, LedgerGoneError)
    assert words in str(told)


@pytest.mark.parametrize(("error", "words"), STAYING, ids=lambda value: repr(value)[:40])
def test_what_no_waiting_mends_is_told_at_once(error: Exception, words: str):
    """Schema, credentials, contradictions, damage: to wait for these would only hide them."""
    told = explain(error)
    assert not isinstance(told, LedgerGoneError)
    assert words in str(told)


@pytest.mark.parametrize("error", [error for error, _ in GONE + STAYING], ids=lambda value: repr(value)[:40])
def test_no_fault_shows_statement_parameter_or_text(error: Exception):
    """What a driver says may quote anything."""
    assert SECRET not in str(explain(error))


def test_a_value_that_the_driver_refuses_is_no_lost_connection():
    """The driver's objection to a value shares the class of its connection faults."""
    objection = type("DataError", (asyncpg.InterfaceError, ValueError), {})("x")
    assert not isinstance(explain(by_driver(objection)), LedgerGoneError)
