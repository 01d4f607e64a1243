"""Where the API may listen."""

import pytest

from prober.config.serving import ApiSettings
from prober.domain.account import Scope
from prober.domain.errors import ConfigError
from prober.service.api.exposure import require_tokens_where_exposed
from prober.store.database import Database
from prober.store.tokens import TokenBook
from tests.support.ledger import SettableClock


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
async def test_loopback_needs_no_token(sqlite_database: Database, clock: SettableClock, host: str):
    """Nobody else can reach it."""
    await require_tokens_where_exposed(ApiSettings(host=host), TokenBook(sqlite_database, clock))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "prober.internal", "localhost.example"])
async def test_elsewhere_needs_a_live_token(sqlite_database: Database, clock: SettableClock, host: str):
    """With none, or with none that would be let in, it is refused; the verb that helps is named."""
    settings, tokens = ApiSettings(host=host), TokenBook(sqlite_database, clock)
    with pytest.raises(ConfigError, match="prober token create"):
        await require_tokens_where_exposed(settings, tokens)
    await tokens.create("ci", [Scope.READ])
    await require_tokens_where_exposed(settings, tokens)
    await tokens.revoke("ci")
    with pytest.raises(ConfigError, match="no live API token"):
        await require_tokens_where_exposed(settings, tokens)
