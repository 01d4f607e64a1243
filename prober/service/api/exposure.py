"""Where the API may listen."""

from prober.config.serving import ApiSettings
from prober.domain.errors import ConfigError
from prober.lab.loopback import is_loopback
from prober.store.tokens import TokenBook


async def require_tokens_where_exposed(settings: ApiSettings, tokens: TokenBook) -> None:
    """Refuse to listen where others can reach it while nobody has a token: it is not meant to be open yet.

    Raises:
        ConfigError: the host is no loopback address, and no live token is in the database.
        LedgerError: the database cannot be asked.
    """
    if is_loopback(settings.host) or await tokens.has_live():
        return
    raise ConfigError(
        f"api.host is {settings.host}, which others can reach, and the database holds no live API token: "
        "make one first (`prober token create`), or listen on 127.0.0.1"
    )
