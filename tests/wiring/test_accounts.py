"""The book of API tokens of a configuration."""

import pytest

from prober.domain.account import Scope
from prober.domain.errors import ConfigError
from prober.store.tokens import TokenBook
from prober.wiring.accounts import open_tokens
from prober.wiring.campaigns import read_settings
from tests.support.command import CREDENTIALS, Workplace


async def test_tokens_are_those_of_the_configured_database(place: Workplace):
    """What was made with one configuration is known when it is opened again."""
    settings = read_settings(place.config, CREDENTIALS).settings
    async with open_tokens(settings) as tokens:
        secret = await tokens.create("ci", [Scope.READ])
    async with open_tokens(settings) as tokens:
        assert isinstance(tokens, TokenBook)
        assert await tokens.verify(secret) is not None


async def test_a_database_without_schema_is_said_so(place: Workplace):
    """The verb that mends it is named."""
    place.database.unlink()
    settings = read_settings(place.config, CREDENTIALS).settings
    with pytest.raises(ConfigError, match="prober db upgrade"):
        async with open_tokens(settings):
            pass
