"""One process's live objects, opened and closed together."""

import asyncio
import contextlib
import dataclasses
import datetime as dt
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence

from prober.config.campaigns import caps, credentials
from prober.config.keyring_file import load_keyring
from prober.config.schema import Settings
from prober.detect.detectors import DETECTORS
from prober.domain.campaign import Campaign, Run, Trigger
from prober.domain.errors import ConfigError, LedgerError
from prober.domain.finding import Finding
from prober.domain.verdict import RunReport
from prober.endpoint.client import HttpEndpoint
from prober.endpoint.dialects import DIALECTS
from prober.endpoint.token_pacing import TokenPaces
from prober.prompt.keyring import Keyring
from prober.runner.live_probes import LiveProbes
from prober.runner.ports import Ports, StopSwitch, Telemetry, Unlimited
from prober.runner.reception import Instruments
from prober.runner.run import execute
from prober.store import patience
from prober.store.database import Database
from prober.store.fencing import Claim
from prober.store.issues import IssueBook
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from prober.store.migrate import is_current
from prober.store.patience import Patience, PatientBudget, PatientLedger, PatientVault
from prober.store.reports import StoredReports
from prober.store.shared_budget import SharedBudget, Unwatched
from prober.store.vault import Vault
from prober.telemetry.exposition import MetricsBook
from prober.telemetry.fanout import Fanout
from prober.telemetry.logs import Log
from prober.telemetry.run_log import RunLog
from prober.wiring.budgets import budget_of, paces_of, tenants_of
from prober.wiring.campaigns import connection_of
from prober.wiring.notifications import issues_of, routes_of, told_of_issues, unsettled_counts
from prober.wiring.system import RandomSerials, Switch, SystemClock
from prober.wiring.vault import vault_of

COMPONENTS = ("ladder", "runner", "telemetry", "vault")
"""Parts of the prober, besides its detectors, that report internal errors."""

ALIVE_SECONDS = 60.0
"""How often a run without a job says that it lives."""

ABANDONED_AFTER = dt.timedelta(hours=1)
"""A run without a job that has not been heard of for so long was killed: sixty signs of life are missing."""


def open_database(settings: Settings) -> Database:
    """Prepare the configured database."""
    return Database(settings.database.reveal())


def endpoint_of(settings: Settings, campaign: Campaign, paces: TokenPaces | None = None) -> HttpEndpoint:
    """Build the sender for a campaign's target; `paces` are those of the target, which outlive a run.

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
        urls={tenant.name: tenant.url for tenant in settings.targets[name].tenants if tenant.url is not None},
        paces=paces,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prober:
    """Everything that one process needs to execute runs."""

    settings: Settings
    database: Database
    keyring: Keyring
    live: LiveProbes
    ledger: SqlLedger
    lookups: LedgerLookups
    issues: IssueBook
    metrics: MetricsBook
    telemetry: Telemetry
    stop: StopSwitch
    budget: SharedBudget
    vault: Vault
    paces: Mapping[str, TokenPaces]
    """By target."""
    is_charged: bool = True
    """What runs spend is booked and bounded; False: it is spent against a lab of ours, and costs nobody anything."""

    async def run(
        self,
        campaign: Campaign,
        trigger: Trigger,
        claim: Claim | None = None,
        *,
        facts: Mapping[str, str] | None = None,
        doubts: Sequence[Finding] = (),
    ) -> RunReport:
        """Execute a campaign of this configuration to its verdict; under a job with its claim, with a rollout's facts.

        `doubts` are findings about the run as a whole that are known before it begins.

        Raises:
            ConfigError: the target cannot be reached as configured.
            LedgerError: the database failed, for as long as was waited for it; LeaseLostError, the job is another
                replica's.
        """
        clock = SystemClock()
        run = Run(
            run_id=str(uuid.uuid4()),
            campaign=campaign,
            trigger=trigger,
            started_at=clock.now(),
            facts=dict(facts or {}),
        )
        endpoint = endpoint_of(self.settings, campaign, self.paces.get(campaign.target.name))
        seconds = patience.ALONE_SECONDS if claim is None else patience.UNDER_JOB_SECONDS
        waits = Patience(run, seconds, clock=clock, watcher=self.telemetry)
        ports = Ports(
            endpoint=endpoint,
            ledger=PatientLedger(self.ledger if claim is None else self.ledger.under(claim), waits),
            telemetry=self.telemetry,
            clock=clock,
            serials=RandomSerials(),
            stop=self.stop,
            budget=PatientBudget(self.budget if self.is_charged else Unlimited(), waits),
            vault=PatientVault(self.vault, waits),
        )
        # Under a job the lease says that the run lives.
        life = asyncio.create_task(self._keep_alive(run)) if claim is None else None
        try:
            report = await execute(run, Instruments(self.keyring, self.live), ports, doubts)
        finally:
            if life is not None:
                life.cancel()
            await endpoint.close()
        # What the run opened and closed, also for a textfile that is written once, now.
        with contextlib.suppress(LedgerError):
            self.metrics.notifications.show_open(await unsettled_counts(self.issues))
        return report

    async def _keep_alive(self, run: Run) -> None:
        while True:
            await asyncio.sleep(ALIVE_SECONDS)
            # A database that fails is the run's own trouble, at its next write.
            with contextlib.suppress(LedgerError):
                await self.ledger.keep_alive(run)


@contextlib.asynccontextmanager
async def open_prober(
    settings: Settings,
    *,
    log: Log,
    watchers: Sequence[Telemetry] = (),
    stop: StopSwitch | None = None,
    components: Sequence[str] = (),
) -> AsyncIterator[Prober]:
    """Open keys, database and telemetry; close them behind the caller.

    Runs that an earlier process left open are closed as INCONCLUSIVE first. `components` are further parts that report
    internal errors.

    Raises:
        ConfigError: the key file cannot be used.
        LedgerError: the database cannot be reached, or `prober db upgrade` has not been run.
    """
    keyring = load_keyring(settings.key_file)
    await _require_current(settings)
    database = open_database(settings)
    metrics = MetricsBook(
        targets=settings.targets,
        components=[*(detector.__name__ for detector in DETECTORS), *COMPONENTS, *components],
        tenants=tenants_of(settings),
        caps=caps(settings),
        receivers=told_of_issues(settings),
    )
    clock = SystemClock()
    ledger = SqlLedger(database, clock, routes=routes_of(settings))
    issues = issues_of(settings, database, clock)
    try:
        await ledger.close_abandoned(ABANDONED_AFTER)
        unsettled = await unsettled_counts(issues)
        metrics.metrics.restore_active(unsettled)
        metrics.notifications.show_open(unsettled)
        yield Prober(
            settings=settings,
            database=database,
            keyring=keyring,
            live=LiveProbes(keyring),
            ledger=ledger,
            lookups=LedgerLookups(database, clock),
            issues=issues,
            metrics=metrics,
            telemetry=Fanout([metrics.metrics, metrics.spending, RunLog(log), *watchers]),
            stop=stop or Switch(),
            budget=budget_of(settings, database, metrics.spending),
            vault=vault_of(settings, database, clock),
            paces=paces_of(settings),
        )
    finally:
        await database.close()


async def _require_current(settings: Settings) -> None:
    if not await is_current(settings.database.reveal()):
        raise ConfigError("the database is not at this version's schema; run `prober db upgrade` first")


@contextlib.asynccontextmanager
async def open_budget(settings: Settings) -> AsyncIterator[SharedBudget]:
    """Open the budget to ask it; the database is not touched where nothing is bounded.

    Raises:
        ConfigError: something is bounded, and `prober db upgrade` has not been run.
        LedgerError: something is bounded, and the database cannot be reached.
    """
    if caps(settings):
        await _require_current(settings)
    database = open_database(settings)
    try:
        yield budget_of(settings, database, Unwatched())
    finally:
        await database.close()


@contextlib.asynccontextmanager
async def open_lookups(settings: Settings) -> AsyncIterator[LedgerLookups]:
    """Open the ledger for reading.

    Raises:
        ConfigError: `prober db upgrade` has not been run.
        LedgerError: the database cannot be reached.
    """
    async with open_current_database(settings) as database:
        yield LedgerLookups(database, SystemClock())


@contextlib.asynccontextmanager
async def open_reports(settings: Settings) -> AsyncIterator[StoredReports]:
    """Open the ledger to read runs' reports.

    Raises:
        ConfigError: `prober db upgrade` has not been run.
        LedgerError: the database cannot be reached.
    """
    async with open_current_database(settings) as database:
        yield StoredReports(database)


@contextlib.asynccontextmanager
async def open_vault(settings: Settings) -> AsyncIterator[Vault]:
    """Open the evidence vault.

    Raises:
        ConfigError: `prober db upgrade` has not been run.
        LedgerError: the database cannot be reached.
    """
    async with open_current_database(settings) as database:
        yield vault_of(settings, database, SystemClock())


@contextlib.asynccontextmanager
async def open_issues(settings: Settings) -> AsyncIterator[IssueBook]:
    """Open the issues, to look at them and to change them.

    Raises:
        ConfigError: `prober db upgrade` has not been run.
        LedgerError: the database cannot be reached.
    """
    async with open_current_database(settings) as database:
        yield issues_of(settings, database, SystemClock())


@contextlib.asynccontextmanager
async def open_current_database(settings: Settings) -> AsyncIterator[Database]:
    """Open the database itself.

    Raises:
        ConfigError: `prober db upgrade` has not been run.
        LedgerError: the database cannot be reached.
    """
    await _require_current(settings)
    database = open_database(settings)
    try:
        yield database
    finally:
        await database.close()
