"""Settings -> what prunes the database."""

import datetime as dt

from prober.config.retention import RetentionSettings
from prober.wiring.campaigns import read_settings
from prober.wiring.retention import limits_of, open_retention
from tests.support.command import CREDENTIALS, Workplace


def test_days_and_mebibytes_become_limits():
    """Each figure of the configuration is in force as its own."""
    limits = limits_of(
        RetentionSettings(observation_days=2, run_days=3, finding_days=4, vault_days=1, max_mebibytes=16)
    )

    assert (limits.observations, limits.runs, limits.findings, limits.vault) == tuple(map(dt.timedelta, (2, 3, 4, 1)))
    assert limits.max_bytes == 16 * 2**20


async def test_the_configured_database_is_pruned(place: Workplace):
    """An empty database is opened, looked at and left as it is."""
    place.configure("http://127.0.0.1:9/v1")
    async with open_retention(read_settings(place.config, CREDENTIALS).settings) as retention:
        done = await retention.prune()

    assert set(done.rows.values()) == {0}
    assert 0 < done.bytes_after <= done.bytes_before
