"""The API over a database of each kind."""

import pytest

from prober.store.database import Database
from tests.store.conftest import (
    clock,
    database,
    postgres_database,
    postgres_server,
    postgres_template,
    sqlite_database,
    sqlite_template,
)
from tests.support.api import Served, served
from tests.support.ledger import SettableClock

__all__ = [
    "clock",
    "database",
    "postgres_database",
    "postgres_server",
    "postgres_template",
    "sqlite_database",
    "sqlite_template",
]


@pytest.fixture
def api(sqlite_database: Database, clock: SettableClock) -> Served:
    """Over SQLite."""
    return served(sqlite_database, clock)


@pytest.fixture
def api_anywhere(database: Database, clock: SettableClock) -> Served:
    """Over SQLite, and over PostgreSQL."""
    return served(database, clock)
