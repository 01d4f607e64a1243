"""The API over a database of each kind."""

import pytest

from prober.store.database import Database
from tests.support.api import Served, served
from tests.support.ledger import SettableClock


@pytest.fixture
def api(sqlite_database: Database, clock: SettableClock) -> Served:
    """Over SQLite."""
    return served(sqlite_database, clock)


@pytest.fixture
def api_anywhere(database: Database, clock: SettableClock) -> Served:
    """Over SQLite, and over PostgreSQL."""
    return served(database, clock)
