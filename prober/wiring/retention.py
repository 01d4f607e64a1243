"""Settings -> what prunes the database."""

import contextlib
import datetime as dt
from collections.abc import AsyncIterator

from prober.config.retention import RetentionSettings
from prober.config.schema import Settings
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.retention import Limits, Retention
from prober.wiring.prober import open_current_database
from prober.wiring.system import SystemClock

MEBIBYTE = 1024 * 1024


def limits_of(retention: RetentionSettings) -> Limits:
    """Ages and size, as the store counts them."""
    return Limits(
        observations=dt.timedelta(days=retention.observation_days),
        runs=dt.timedelta(days=retention.run_days),
        findings=dt.timedelta(days=retention.finding_days),
        vault=dt.timedelta(days=retention.vault_days),
        max_bytes=retention.max_mebibytes * MEBIBYTE,
    )


def retention_of(settings: Settings, database: Database, clock: Clock) -> Retention:
    """Build what prunes this database; `prune()` may be called at any time, by several replicas at once."""
    return Retention(database, clock, limits_of(settings.retention))


@contextlib.asynccontextmanager
async def open_retention(settings: Settings) -> AsyncIterator[Retention]:
    """Open the database to prune it.

    Raises:
        ConfigError: `prober db upgrade` has not been run.
        LedgerError: the database cannot be reached.
    """
    async with open_current_database(settings) as database:
        yield retention_of(settings, database, SystemClock())
