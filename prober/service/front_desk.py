"""What the API's routes and the pages see of a replica."""

import pathlib

from prober.domain.budget import Standing
from prober.plan.scenarios import SCENARIOS
from prober.prompt.keyring import Keyring
from prober.service.api.desk import Desk
from prober.service.pages.ports import PagePorts
from prober.service.reload import Configuration
from prober.service.schedule_book import ScheduleBook
from prober.service.scheduler import Scheduler
from prober.store.page_lookups import PageLookups
from prober.store.reports import StoredReports
from prober.store.sessions import SessionBook
from prober.wiring.campaigns import campaign_of
from prober.wiring.service import Replica
from prober.wiring.system import SystemClock


def desk_of(replica: Replica, configuration: Configuration, scheduler: Scheduler) -> Desk:
    """Lay the desk."""
    clock, prober = SystemClock(), replica.prober

    async def reaches_database() -> bool:
        await replica.switches.read()
        return True

    async def schedules() -> bool:
        return scheduler.is_running

    async def holds_key() -> bool:
        return _is_there(configuration.settings.key_file) and isinstance(configuration.bench.prober.keyring, Keyring)

    return Desk(
        settings=configuration.settings.api,
        clock=clock,
        tokens=replica.tokens,
        queue=replica.queue,
        lookups=prober.lookups,
        reports=StoredReports(prober.database),
        issues=prober.issues,
        schedules=ScheduleBook(lambda: configuration.settings, scheduler, replica.switches, clock),
        switches=replica.switches,
        vault=prober.vault,
        campaigns=lambda: {name: campaign_of(configuration.settings, name) for name in configuration.settings.targets},
        scenarios=tuple(SCENARIOS),
        readiness={"database": reaches_database, "scheduler": schedules, "key": holds_key},
        exposition=prober.metrics.text,
        report=prober.telemetry.internal_error,
    )


def page_ports_of(desk: Desk, replica: Replica, configuration: Configuration) -> PagePorts:
    """Lay what the pages need beside it."""
    prober = replica.prober

    async def standings() -> tuple[Standing, ...]:
        return await configuration.bench.prober.budget.standings()

    return PagePorts(
        desk=desk,
        sessions=SessionBook(prober.database, SystemClock()),
        runs=prober.lookups,
        lookups=PageLookups(prober.database),
        standings=standings,
        currency=lambda: configuration.settings.budgets.currency,
    )


def _is_there(path: pathlib.Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
