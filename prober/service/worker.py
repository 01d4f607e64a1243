"""Claims jobs and runs them: the one path for scheduled, manual and rollout runs."""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from prober.config.schedules import ServiceSettings
from prober.domain.breaker import Admission
from prober.domain.campaign import Trigger
from prober.domain.errors import ConfigError, LeaseLostError, LedgerError
from prober.domain.finding import Finding
from prober.domain.job import Job, MissedReason
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.runner.ports import Clock
from prober.service.holdings import Cut, Held, Holdings
from prober.store.wake_ups import WakeUps
from prober.telemetry.logs import Log

CLOSE_SECONDS = 10.0
"""What runs that were cut get to close themselves, and to say so."""

RETRY_SECONDS = 1.0
"""Between attempts to tell a database that is gone how a run ended."""

COMPONENT = "worker"


class Queue(Protocol):
    """What the worker needs of `store.jobs.JobQueue`. Raises LedgerError, LeaseLostError where a job is another's."""

    async def claim(self, targets: Collection[str], lease: dt.timedelta) -> Job | None:
        """Take the next job."""
        ...

    async def settle(self, job: Job, outcome: Outcome | None, note: str = "") -> Job:
        """End a job with a verdict."""
        ...

    async def give_back(self, job: Job, note: str) -> Job:
        """Queue it anew."""
        ...

    async def skip(self, job: Job, reason: MissedReason) -> Job:
        """End it as MISSED."""
        ...


class Bench(Protocol):
    """What runs are performed with, as configured now."""

    @property
    def settings(self) -> ServiceSettings:
        """How this replica behaves."""
        ...

    @property
    def targets(self) -> Collection[str]:
        """Names of the targets that it can probe."""
        ...

    async def perform(self, job: Job, doubts: Sequence[Finding]) -> RunReport:
        """Run a claimed job, with what is known against its run already, to its verdict.

        ConfigError, LedgerError, LeaseLostError.
        """
        ...


class WorkWatcher(Protocol):
    """Counts: `telemetry.service_series.ServiceSeries`. Must not raise."""

    def held(self, count: int) -> None:
        """Show how many runs are under way here."""
        ...

    def lease_lost(self) -> None:
        """Count a run lost to another replica."""
        ...

    def scheduled_run_ended(self, target: str, now: dt.datetime) -> None:
        """Show that a scheduled run came to its verdict."""
        ...


async def no_doubts(job: Job) -> Sequence[Finding]:  # noqa: ARG001 - whatever the job
    """Doubt nothing."""
    return ()


class _NotAdmittedError(Exception):
    """The circuit breaker lets this run wait."""


class Worker:
    """Runs jobs until it is drained.

    Args:
        queue: the queue of all replicas.
        wake_ups: end the wait between two looks.
        holdings: where its jobs stand, for the heart to see.
        bench: asked anew for each job, so that a reload reaches the next one.
        admits: asked before each run: the circuit breaker.
        doubts: asked next, and waited for: what the self-test says against the run. Must not raise.
        clock: for the lease's own time.
        watcher: counts.
        log: tells each job's course.
        report_fault: takes a fault of our own: component and exception.
        on_news: called when somebody announced something: work, or a cancel that the heart shall see.
        is_stopped: the global stop as runs here know it: one claimed before they hear of its release would end at once.
    """

    def __init__(  # noqa: PLR0913 - a replica's parts
        self,
        queue: Queue,
        wake_ups: WakeUps,
        holdings: Holdings,
        *,
        bench: Callable[[], Bench],
        admits: Callable[[Job], Awaitable[Admission]],
        clock: Clock,
        watcher: WorkWatcher,
        log: Log,
        report_fault: Callable[[str, BaseException], None],
        doubts: Callable[[Job], Awaitable[Sequence[Finding]]] = no_doubts,
        on_news: Callable[[], None] = lambda: None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._queue = queue
        self._wake_ups = wake_ups
        self._holdings = holdings
        self._bench = bench
        self._admits = admits
        self._doubts = doubts
        self._clock = clock
        self._watcher = watcher
        self._log = log
        self._report_fault = report_fault
        self._on_news = on_news
        self._is_stopped = is_stopped
        self._is_draining = False
        self._claiming = asyncio.Lock()
        self._at_work: set[asyncio.Task[None]] = set()

    async def work(self) -> None:
        """Claim and run until `drain` is called; returns at once then, runs go on."""
        while not self._is_draining:
            if await self._begin_next():
                continue
            if await self._wake_ups.wait(self._bench().settings.poll_seconds) and self._holdings:
                self._on_news()

    async def drain(self, hurry: asyncio.Event) -> None:
        """Claim nothing more; let runs end within the bound, or until told to hurry; cut the rest.

        What was cut is closed as INCONCLUSIVE and queued anew, for another replica or the next start; a job whose claim
        was under way is queued anew too, before any run of it.
        """
        self._is_draining = True
        self._wake_ups.wake()
        hurried = asyncio.create_task(hurry.wait())
        try:
            await self._wait_for_work(self._bench().settings.drain_seconds, unless=hurried)
        finally:
            hurried.cancel()
        self._holdings.cut_all(Cut.DRAINED)
        await self._wait_for_work(CLOSE_SECONDS)
        for task in self._at_work:
            task.cancel()

    async def _wait_for_work(self, seconds: float, unless: asyncio.Task[bool] | None = None) -> None:
        async def all_done() -> None:
            # A claim that commits behind our back would hold its job for a whole lease.
            async with self._claiming:
                pass
            while self._at_work:
                await asyncio.wait(self._at_work)

        done = asyncio.create_task(all_done())
        await asyncio.wait({done} | ({unless} if unless else set()), timeout=seconds, return_when="FIRST_COMPLETED")
        done.cancel()

    async def _begin_next(self) -> bool:
        """Claim one job and start it; False where there is none to claim or no room for it."""
        async with self._claiming:
            return not self._is_draining and await self._claim_and_start(self._bench())

    async def _claim_and_start(self, bench: Bench) -> bool:
        if self._is_stopped() or len(self._holdings) >= bench.settings.concurrency:
            return False
        asked_at = self._clock.monotonic()
        try:
            job = await self._queue.claim(bench.targets, dt.timedelta(seconds=bench.settings.lease_seconds))
        except LedgerError as error:
            self._log.warning("claim_failed", reason=str(error))
            return False
        if job is None:
            return False
        held = Held(job, asyncio.create_task(self._perform(bench, job)), asked_at)
        if self._is_draining:
            # Cut before its first step: nothing is sent, and the job is given back as others are.
            held.cut(Cut.DRAINED)
        else:
            self._log.info("job_claimed", job=job.job_id, target=job.request.target, attempt=job.attempts)
        self._holdings.add(held)
        self._watcher.held(len(self._holdings))
        task = asyncio.create_task(self._see_through(held))
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)
        return True

    async def _perform(self, bench: Bench, job: Job) -> RunReport:
        if not (await self._admits(job)).is_admitted:
            raise _NotAdmittedError
        return await bench.perform(job, await self._doubts(job))

    async def _see_through(self, held: Held) -> None:
        """Wait for a run and tell the queue how it ended."""
        try:
            await asyncio.wait([held.run])
            await self._tell(held)
        except Exception as error:  # noqa: BLE001 - one job's trouble must not end the worker; its lease will
            self._report_fault(COMPONENT, error)
        finally:
            held.run.cancel()
            self._holdings.drop(held)
            self._watcher.held(len(self._holdings))
            self._wake_ups.wake()

    async def _tell(self, held: Held) -> None:
        job, run = held.job, held.run
        if run.cancelled():
            await self._tell_cut(held)
        elif (error := run.exception()) is None:
            await self._settle(held, run.result().verdict.outcome)
        elif isinstance(error, _NotAdmittedError):
            await self._insist(held, lambda: self._queue.skip(job, MissedReason.BREAKER))
        elif isinstance(error, LeaseLostError):
            self._lost(job)
        elif isinstance(error, LedgerError):
            await self._insist(held, lambda: self._queue.give_back(job, "the database failed during its run"))
        elif isinstance(error, ConfigError):
            await self._settle(held, Outcome.INCONCLUSIVE, f"cannot be run as configured: {error}")
        else:
            await self._settle(held, None, f"the prober itself failed ({type(error).__name__})")

    async def _tell_cut(self, held: Held) -> None:
        job, why = held.job, held.why_cut
        if why is Cut.LOST:
            self._lost(job)
        elif why is Cut.CANCELLED:
            await self._settle(held, None)
        else:
            note = "its replica was ended" if why is Cut.DRAINED else "its replica could not reach the database"
            await self._insist(held, lambda: self._queue.give_back(job, note))

    async def _settle(self, held: Held, outcome: Outcome | None, note: str = "") -> None:
        done = await self._insist(held, lambda: self._queue.settle(held.job, outcome, note))
        if done is not None and done.request.trigger is Trigger.SCHEDULE:
            self._watcher.scheduled_run_ended(done.request.target, self._clock.now())

    async def _insist(self, held: Held, tell: Callable[[], Awaitable[Job]]) -> Job | None:
        """Tell the queue, again and again while the database is gone; None once the job is another's."""
        while True:
            try:
                job = await tell()
            except LeaseLostError:
                self._lost(held.job)
                return None
            except LedgerError as error:
                self._log.warning("job_end_untold", job=held.job.job_id, reason=str(error))
                await asyncio.sleep(RETRY_SECONDS)
            else:
                facts = {"state": job.state, "outcome": job.outcome, "note": job.note}
                self._log.info("job_ended", job=job.job_id, target=job.request.target, **facts)
                return job

    def _lost(self, job: Job) -> None:
        self._watcher.lease_lost()
        self._log.warning("lease_lost", job=job.job_id, target=job.request.target)
