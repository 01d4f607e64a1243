"""Self-watch: before a scheduled run, is the prober itself able to see a leak, to keep it, and to tell of it?"""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Protocol

from prober.config.schedules import ServiceSettings
from prober.domain.campaign import Trigger
from prober.domain.errors import LedgerError, ProberError
from prober.domain.finding import Finding, Reason
from prober.domain.job import Job
from prober.domain.outcome import Outcome
from prober.runner.ports import Clock
from prober.service.self_watch_path import StepFailedError
from prober.telemetry.logs import Log
from prober.telemetry.self_test_series import SelfTestSeries, Step

MOST_SECONDS = 120.0
"""Most that a scheduled run ever waits for a self-test. Its steps and what ends them come to less."""

COMPONENT = "self_watch"
"""Name under which a fault of ours is reported."""


class Path(Protocol):
    """One self-test: `service.self_watch_path.SelfTestPath`."""

    step: Step
    """Where it stands."""

    def walk(self) -> Awaitable[None]:
        """Go through it; StepFailedError."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    step: Step
    why: str


class SelfWatch:
    """Says what is to be doubted of scheduled runs. One self-test at a time; runs that wait for it share it.

    Args:
        begin: prepares a self-test of the configuration in force.
        settings: whether, and for how long one counts.
        clock: counts that.
        series: publishes how they went.
        log: likewise.
        report_fault: takes a fault of our own: component and exception.
    """

    def __init__(
        self,
        begin: Callable[[], Path],
        *,
        settings: Callable[[], ServiceSettings],
        clock: Clock,
        series: SelfTestSeries,
        log: Log,
        report_fault: Callable[[str, BaseException], None],
    ) -> None:
        self._begin = begin
        self._settings = settings
        self._clock = clock
        self._series = series
        self._log = log
        self._report_fault = report_fault
        self._under_way: asyncio.Task[_Failure | None] | None = None
        self._path: Path | None = None
        self._succeeded_at: float | None = None

    async def doubts(self, job: Job) -> tuple[Finding, ...]:
        """Test the prober before this job, unless it was just tested; empty: nothing is to be doubted.

        Takes `MOST_SECONDS` at most, and never raises but for its own cancellation, which leaves the self-test to
        others that wait for it.
        """
        settings = self._settings()
        if job.request.trigger is not Trigger.SCHEDULE or not settings.self_test:
            return ()
        if self._under_way is None:
            if self._is_fresh(settings.self_test_seconds):
                return ()
            self._under_way = asyncio.create_task(self._test())
            self._under_way.add_done_callback(self._end)
        task = self._under_way
        done, _ = await asyncio.wait({task}, timeout=MOST_SECONDS)
        failure = task.result() if done and not task.cancelled() else self._hung(task)
        return () if failure is None else (_doubt(failure),)

    async def aclose(self) -> None:
        """End the self-test under way."""
        if self._under_way is not None:
            self._under_way.cancel()
            await asyncio.wait({self._under_way})

    def _is_fresh(self, seconds: float) -> bool:
        return self._succeeded_at is not None and self._clock.monotonic() - self._succeeded_at < seconds

    def _hung(self, task: asyncio.Task[_Failure | None]) -> _Failure:
        """Give a self-test up, so that the next run begins another; told once, whoever waited for it."""
        step = Step.LAB if self._path is None else self._path.step
        if self._under_way is task:
            self._under_way, self._succeeded_at = None, None
            task.cancel()
            self._series.failed(step, MOST_SECONDS)
            self._log.error("selftest_hangs", step=step)
        return _Failure(step=step, why=f"did not end within {MOST_SECONDS:g} s")

    def _end(self, task: asyncio.Task[_Failure | None]) -> None:
        if self._under_way is task:
            self._under_way = None

    async def _test(self) -> _Failure | None:
        began = self._clock.monotonic()
        self._path = path = self._begin()
        try:
            await path.walk()
        except StepFailedError as error:
            return self._failed(path.step, str(error), began)
        except Exception as error:  # noqa: BLE001 - whatever it was, the run goes on, in doubt
            self._report_fault(COMPONENT, error)
            why = str(error) if isinstance(error, ProberError) else f"the prober itself failed ({type(error).__name__})"
            # Wherever it shows: what fails then is the database.
            return self._failed(Step.LEDGER if isinstance(error, LedgerError) else path.step, why, began)
        self._succeeded_at = self._clock.monotonic()
        self._series.passed(self._clock.now(), self._succeeded_at - began)
        self._log.info("selftest_passed", seconds=round(self._succeeded_at - began, 1))
        return None

    def _failed(self, step: Step, why: str, began: float) -> _Failure:
        seconds = self._clock.monotonic() - began
        self._succeeded_at = None
        self._series.failed(step, seconds)
        self._log.error("selftest_failed", step=step, reason=why, seconds=round(seconds, 1))
        return _Failure(step=step, why=why)


def _doubt(failure: _Failure) -> Finding:
    return Finding(
        detector=COMPONENT,
        outcome=Outcome.INCONCLUSIVE,
        reason=Reason.SELFTEST_FAILED,
        message=(
            f"The self-test before this run failed at its step {failure.step.value}: {failure.why}. What this run did "
            "not find, the prober might not have seen."
        ),
    )
