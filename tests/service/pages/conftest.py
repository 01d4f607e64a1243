"""Pages over a database of each kind."""

import pytest

from prober.store.database import Database
from tests.support.ledger import SettableClock
from tests.support.pages import Pages, pages_over


@pytest.fixture
def pages(sqlite_database: Database, clock: SettableClock) -> Pages:
    """Over SQLite."""
    return pages_over(sqlite_database, clock)


@pytest.fixture
def pages_anywhere(database: Database, clock: SettableClock) -> Pages:
    """Over SQLite, and over PostgreSQL."""
    return pages_over(database, clock)
