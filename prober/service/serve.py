"""`prober serve`: one replica from its start to the end of its drain."""

import asyncio
import contextlib
import pathlib
import random
import signal
from collections.abc import Callable, Iterator

from prober.config.schema import Settings
from prober.service.api.app import build_app
from prober.service.api.exposure import require_tokens_where_exposed
from prober.service.breaker import CircuitBreaker
from prober.service.calendar import calendars_of, periods_of
from prober.service.deliveries import Deliveries
from prober.service.front_desk import desk_of, page_ports_of
from prober.service.heart import GlobalStop, Heart
from prober.service.holdings import Holdings
from prober.service.housekeeping import prune_now_and_then, refresh_now_and_then
from prober.service.loop_lag import watch_loop
from prober.service.pages.site import mount
from prober.service.reload import Configuration
from prober.service.scheduler import Scheduler
from prober.service.self_watch import SelfWatch
from prober.service.self_watch_path import SelfTestPath
from prober.service.slot_dealing import Dealer
from prober.service.supervision import Loop, supervised
from prober.service.web import serving
from prober.service.worker import Worker
from prober.store.retention import Pruning
from prober.telemetry.logs import Log
from prober.telemetry.redaction import Redactor
from prober.wiring.notifications import receivers_of
from prober.wiring.retention import limits_of, retention_of
from prober.wiring.service import Replica, open_replica
from prober.wiring.system import SystemClock

LOOK_SECONDS = 5.0
"""How often the scheduler reads the date anew, should somebody have set the clock."""

COMPONENTS = ("api", "budgets", "heart", "loop_lag", "notifications", "retention", "scheduler", "self_watch", "worker")
"""Parts of the service that report internal errors."""


async def serve(path: pathlib.Path, settings: Settings, *, log: Log, redactor: Redactor) -> None:
    """Serve until SIGTERM or SIGINT, then drain; a second one hurries the drain. SIGHUP reads the configuration anew.

    Args:
        path: of the configuration file, for reloads.
        settings: as read from it.
        log: tells what happens.
        redactor: the log's own; learns the secrets of configurations to come.

    Raises:
        ConfigError: key, address or schema cannot be used, or the API would be open to others without a token.
        LedgerError: the database cannot be reached at the start.
    """
    stop = GlobalStop()
    async with open_replica(settings, log=log, stop=stop, components=COMPONENTS) as replica:
        await require_tokens_where_exposed(settings.api, replica.tokens)
        configuration = Configuration(path, replica.prober, log=log, redactor=redactor, series=replica.series)
        await _Service(replica, configuration, stop, log).run()


class _Service:
    """A replica's loops."""

    def __init__(self, replica: Replica, configuration: Configuration, stop: GlobalStop, log: Log) -> None:
        clock, series, report_fault = SystemClock(), replica.series, replica.prober.telemetry.internal_error
        holdings = Holdings()
        self._replica = replica
        self._configuration = configuration
        self._log = log
        self._clock = clock
        self._report_fault = report_fault
        self._scheduler = Scheduler(replica.switches.read, watcher=series, log=log)
        self._heart = Heart(
            replica.queue,
            replica.switches,
            holdings,
            stop,
            settings=lambda: configuration.settings.service,
            clock=clock,
            watcher=series,
            log=log,
        )
        breaker = CircuitBreaker(replica.health, clock, gauge=replica.prober.metrics.spending, log=log)
        self._self_watch = SelfWatch(
            lambda: SelfTestPath(configuration.bench.prober, replica.self_test, log=log),
            settings=lambda: configuration.settings.service,
            clock=clock,
            series=replica.self_test,
            log=log,
            report_fault=report_fault,
        )
        self._worker = Worker(
            replica.queue,
            replica.wake_ups,
            holdings,
            bench=lambda: configuration.bench,
            admits=breaker.admits,
            clock=clock,
            watcher=series,
            log=log,
            report_fault=report_fault,
            doubts=self._self_watch.doubts,
            on_news=self._heart.ask,
            is_stopped=stop.is_set,
        )
        self._ending, self._hurry = asyncio.Event(), asyncio.Event()
        self._turn = asyncio.Lock()
        self._reloads: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve until told to end."""
        desk = desk_of(self._replica, self._configuration, self._scheduler)
        app = build_app(desk)
        if desk.settings.pages:
            mount(app, page_ports_of(desk, self._replica, self._configuration))
        with _handling({signal.SIGTERM: self._end, signal.SIGINT: self._end, signal.SIGHUP: self._reload_soon}):
            # Before the first claim: leases of dead replicas, and whether all probing is stopped.
            await self._heart.beat_once()
            # Ended in reverse: who watches and who tells go on until the last run has ended.
            async with (
                serving(app, self._configuration.settings.api) as address,
                supervised(self._keeping(), self._report_fault),
                contextlib.aclosing(self._self_watch),
                supervised({"worker": self._worker.work}, self._report_fault),
            ):
                self._scheduler.start(self._dealers(self._configuration.settings))
                self._log.warning("serving", replica=self._replica.name, address=address)
                await self._ending.wait()
                await self._drain()
        self._log.warning("ended", replica=self._replica.name)

    def _keeping(self) -> dict[str, Loop]:
        """Loops that go on while the replica drains."""
        replica, prober = self._replica, self._replica.prober
        deliveries = Deliveries(
            outbox=replica.outbox,
            issues=prober.issues,
            receivers=receivers_of(prober.settings),
            clock=self._clock,
            series=prober.metrics.notifications,
            log=self._log,
            report_fault=self._report_fault,
            jitter=random.SystemRandom().random,
        )
        return {
            "heart": self._heart.beat,
            "scheduler": self._look_again,
            "loop_lag": lambda: watch_loop(self._clock, replica.series),
            "notifications": deliveries.run,
            "budgets": lambda: refresh_now_and_then(self._refresh_budget, log=self._log),
            "retention": lambda: prune_now_and_then(self._prune, log=self._log),
        }

    async def _refresh_budget(self) -> None:
        await self._configuration.bench.prober.budget.refresh()

    async def _prune(self) -> Pruning:
        """By the ages in force now: a reload may have changed them."""
        settings, database = self._configuration.settings, self._replica.prober.database
        pruning = await retention_of(settings, database, self._clock).prune()
        self._replica.series.database_pruned(pruning.bytes_after, limits_of(settings.retention).max_bytes)
        return pruning

    def _dealers(self, settings: Settings) -> list[Dealer]:
        replica, calendars = self._replica, calendars_of(settings)
        replica.series.scheduled(periods_of(calendars, self._clock.now()))
        return [
            Dealer(calendar, replica.slots, self._clock, watcher=replica.series, log=self._log)
            for calendar in calendars
        ]

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._scheduler.is_running:
                self._scheduler.look_again()

    def _end(self) -> None:
        if self._ending.is_set():
            self._hurry.set()
        self._ending.set()

    async def _drain(self) -> None:
        self._replica.series.draining()
        self._log.warning("draining", seconds=self._configuration.settings.service.drain_seconds)
        await self._scheduler.stop()
        await self._worker.drain(self._hurry)

    def _reload_soon(self) -> None:
        """Reload beside the loops; a second signal meanwhile is served after the first."""
        task = asyncio.create_task(self._reload())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    async def _reload(self) -> None:
        async with self._turn:
            if not self._ending.is_set():
                await self._configuration.reload(self._take_up)

    def _take_up(self, settings: Settings) -> None:
        self._scheduler.replace(self._dealers(settings))
        self._replica.wake_ups.wake()


@contextlib.contextmanager
def _handling(handlers: dict[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
