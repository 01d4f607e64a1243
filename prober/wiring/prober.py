"""One process's live objects, opened and closed together."""

import contextlib
import dataclasses
import datetime as dt
import uuid
from collections.abc import AsyncIterator, Sequence

from prober.config.campaigns import credentials
from prober.config.keyring_file import load_keyring
from prober.config.schema import Settings
from prober.detect.detectors import DETECTORS
from prober.domain.campaign import Campaign, Run, Trigger
from prober.domain.errors import ConfigError
from prober.domain.verdict import RunReport
from prober.endpoint.client import HttpEndpoint
from prober.endpoint.dialects import DIALECTS
from prober.prompt.keyring import Keyring
from prober.prompt.live import LiveIndex
from prober.runner.ports import Ports, StopSwitch, Telemetry
from prober.runner.run import execute
from prober.runner.wave import Instruments
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from prober.store.migrate import is_current
from prober.telemetry.exposition import MetricsBook
from prober.telemetry.fanout import Fanout
from prober.telemetry.logs import Log
from prober.telemetry.run_log import RunLog
from prober.wiring.campaigns import connection_of
from prober.wiring.system import RandomSerials, Switch, SystemClock

COMPONENTS = ("ladder", "runner", "telemetry")
"""Parts of the prober, besides its detectors, that report internal errors."""

ABANDONED_AFTER = dt.timedelta(hours=1)
"""A run that has not been heard of for so long was killed: longer than any one probe may take (deadline 30 min)."""


def open_database(settings: Settings) -> Database:
    """Prepare the configured database."""
    return Database(settings.database.reveal())


def endpoint_of(settings: Settings, campaign: Campaign) -> HttpEndpoint:
    """Build the sender for a campaign's target.

    Raises:
        ConfigError: address, header, credential or certificate that cannot be used.
    """
    name = campaign.target.name
    return HttpEndpoint(
        target=campaign.target,
        settings=connection_of(settings.targets[name]),
        credentials={tenant: secret.reveal() for tenant, secret in credentials(settings, name).items()},
        clock=SystemClock(),
        dialect=DIALECTS[campaign.target.dialect],
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prober:
    """Everything that one process needs to execute runs."""

    settings: Settings
    keyring: Keyring
    live: LiveIndex
    ledger: SqlLedger
    lookups: LedgerLookups
    metrics: MetricsBook
    telemetry: Telemetry
    stop: StopSwitch

    async def run(self, campaign: Campaign, trigger: Trigger) -> RunReport:
        """Execute a campaign of this configuration to its verdict.

        Raises:
            ConfigError: the target cannot be reached as configured.
            LedgerError: the database failed.
        """
        clock = SystemClock()
        run = Run(run_id=str(uuid.uuid4()), campaign=campaign, trigger=trigger, started_at=clock.now())
        endpoint = endpoint_of(self.settings, campaign)
        ports = Ports(
            endpoint=endpoint,
            ledger=self.ledger,
            telemetry=self.telemetry,
            clock=clock,
            serials=RandomSerials(),
            stop=self.stop,
        )
        try:
            return await execute(run, Instruments(self.keyring, self.live), ports)
        finally:
            await endpoint.close()


@contextlib.asynccontextmanager
async def open_prober(
    settings: Settings, *, log: Log, watchers: Sequence[Telemetry] = (), stop: StopSwitch | None = None
) -> AsyncIterator[Prober]:
    """Open keys, database and telemetry; close them behind the caller.

    Runs that an earlier process left open are closed as INCONCLUSIVE first.

    Raises:
        ConfigError: the key file cannot be used.
        LedgerError: the database cannot be reached, or `prober db upgrade` has not been run.
    """
    keyring = load_keyring(settings.key_file)
    await _require_current(settings)
    database = open_database(settings)
    components = [detector.__name__ for detector in DETECTORS]
    metrics = MetricsBook(targets=settings.targets, components=[*components, *COMPONENTS])
    clock = SystemClock()
    ledger = SqlLedger(database, clock)
    try:
        await ledger.close_abandoned(ABANDONED_AFTER)
        yield Prober(
            settings=settings,
            keyring=keyring,
            live=LiveIndex(keyring),
            ledger=ledger,
            lookups=LedgerLookups(database, clock),
            metrics=metrics,
            telemetry=Fanout([metrics.metrics, RunLog(log), *watchers]),
            stop=stop or Switch(),
        )
    finally:
        await database.close()


async def _require_current(settings: Settings) -> None:
    if not await is_current(settings.database.reveal()):
        raise ConfigError("the database is not at this version's schema; run `prober db upgrade` first")


@contextlib.asynccontextmanager
async def open_lookups(settings: Settings) -> AsyncIterator[LedgerLookups]:
    """Open the ledger for reading.

    Raises:
        ConfigError: `prober db upgrade` has not been run.
        LedgerError: the database cannot be reached.
    """
    await _require_current(settings)
    database = open_database(settings)
    try:
        yield LedgerLookups(database, SystemClock())
    finally:
        await database.close()
