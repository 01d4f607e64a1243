"""The live objects of one replica of the always-on service, and what a reload makes of them."""

import asyncio
import contextlib
import dataclasses
import socket
from collections.abc import AsyncIterator, Sequence

from prober.config.keyring_file import load_keyring
from prober.config.rules import is_name
from prober.config.schema import Settings
from prober.domain.finding import Finding
from prober.domain.job import Job
from prober.domain.verdict import RunReport
from prober.runner.live_probes import LiveProbes
from prober.runner.ports import StopSwitch
from prober.store.breaker import HealthRecord
from prober.store.fencing import Claim
from prober.store.jobs import JobQueue
from prober.store.outbox import Outbox
from prober.store.slots import SlotBook
from prober.store.switches import SwitchBoard
from prober.store.tokens import TokenBook
from prober.store.wake_ups import WakeUps, listening
from prober.telemetry.logs import Log
from prober.telemetry.self_test_series import SelfTestSeries
from prober.telemetry.service_series import ServiceSeries
from prober.wiring.budgets import budget_of, paces_kept
from prober.wiring.campaigns import campaign_of
from prober.wiring.memory import give_back
from prober.wiring.notifications import routes_of
from prober.wiring.prober import Prober, open_prober
from prober.wiring.system import SystemClock


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One replica's parts, as long as it lives."""

    name: str
    prober: Prober
    """As configured at the start."""
    queue: JobQueue
    slots: SlotBook
    switches: SwitchBoard
    health: HealthRecord
    outbox: Outbox
    tokens: TokenBook
    wake_ups: WakeUps
    series: ServiceSeries
    self_test: SelfTestSeries


def replica_name(settings: Settings) -> str:
    """Name this replica: as configured, else as the machine is called."""
    host = socket.gethostname().partition(".")[0]
    return settings.service.replica or (host if is_name(host) else "replica")


@contextlib.asynccontextmanager
async def open_replica(
    settings: Settings, *, log: Log, stop: StopSwitch, components: Sequence[str] = ()
) -> AsyncIterator[Replica]:
    """Open all that a replica needs; close it behind the caller.

    Raises:
        ConfigError: the key file cannot be used, or `prober db upgrade` has not been run.
        LedgerError: the database cannot be reached.
    """
    clock, name = SystemClock(), replica_name(settings)
    async with (
        open_prober(settings, log=log, stop=stop, components=components) as prober,
        listening(prober.database) as wake_ups,
    ):
        yield Replica(
            name=name,
            prober=prober,
            queue=JobQueue(prober.database, clock, name, routes_of(settings)),
            slots=SlotBook(prober.database, clock),
            switches=SwitchBoard(prober.database, clock),
            health=HealthRecord(prober.database),
            outbox=Outbox(prober.database, clock, name),
            tokens=TokenBook(prober.database, clock),
            wake_ups=wake_ups,
            series=prober.metrics.service_series(settings.targets),
            self_test=prober.metrics.self_test_series(),
        )


def renewed(prober: Prober, settings: Settings) -> Prober:
    """Give a prober for another configuration on the same database; the one before goes on as it was.

    Database, notifications and vault stay those of the old one.

    Raises:
        ConfigError: the key file cannot be used.
    """
    keyring = load_keyring(settings.key_file)
    is_same = keyring == prober.keyring
    return dataclasses.replace(
        prober,
        settings=settings,
        keyring=keyring,
        # Probes in flight are recognised by the index that knows them, as long as the keys are the same.
        live=prober.live if is_same else LiveProbes(keyring),
        budget=budget_of(settings, prober.database, prober.metrics.spending),
        paces=paces_kept(prober.paces, prober.settings, settings),
    )


async def perform(prober: Prober, job: Job, doubts: Sequence[Finding] = ()) -> RunReport:
    """Run a claimed job to its verdict; `doubts` are what is known against the run before it begins.

    Raises:
        ConfigError: its target or scenarios are not configured, or cannot be used.
        LedgerError: the database failed; LeaseLostError, the job is another replica's.
    """
    request = job.request
    campaign = campaign_of(
        prober.settings, request.target, scenarios=request.scenarios, max_run_tokens=request.max_run_tokens
    )
    try:
        return await prober.run(campaign, request.trigger, Claim.of(job), facts=request.facts, doubts=doubts)
    finally:
        await asyncio.to_thread(give_back)
