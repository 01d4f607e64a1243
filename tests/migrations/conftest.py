"""The same databases as the store's tests."""

from tests.store.conftest import empty_postgres, empty_url, postgres_server

__all__ = ["empty_postgres", "empty_url", "postgres_server"]
