"""Settings -> the evidence vault."""

from prober.config.schema import Settings
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.vault import Vault


def vault_of(settings: Settings, database: Database, clock: Clock) -> Vault:
    """Build the vault. It takes part in every run; without a key it keeps hashes and lengths only."""
    return Vault(database, clock, settings.vault.keyring, settings.vault.bounds)
