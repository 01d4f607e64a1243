"""Settings -> the book of API tokens."""

import contextlib
from collections.abc import AsyncIterator

from prober.config.schema import Settings
from prober.domain.errors import ConfigError
from prober.store.migrate import is_current
from prober.store.tokens import TokenBook
from prober.wiring.prober import open_database
from prober.wiring.system import SystemClock


@contextlib.asynccontextmanager
async def open_tokens(settings: Settings) -> AsyncIterator[TokenBook]:
    """Open the API tokens of the configured database.

    Raises:
        ConfigError: `prober db upgrade` has not been run.
        LedgerError: the database cannot be reached.
    """
    if not await is_current(settings.database.reveal()):
        raise ConfigError("the database is not at this version's schema; run `prober db upgrade` first")
    database = open_database(settings)
    try:
        yield TokenBook(database, SystemClock())
    finally:
        await database.close()
