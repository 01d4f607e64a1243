"""The same databases as the store's tests."""

from tests.store.conftest import (
    clock,
    database,
    empty_postgres,
    postgres_database,
    postgres_server,
    postgres_template,
    sqlite_database,
    sqlite_template,
)

__all__ = [
    "clock",
    "database",
    "empty_postgres",
    "postgres_database",
    "postgres_server",
    "postgres_template",
    "sqlite_database",
    "sqlite_template",
]
