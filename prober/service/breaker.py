"""Asked before each queued run: may it start, or would it only hear one more error?"""

from typing import Protocol

from prober.domain.breaker import Admission, BreakerState, RunHealth
from prober.domain.job import Job
from prober.plan.breaker import admission, breaker
from prober.runner.ports import Clock
from prober.telemetry.logs import Log


class Health(Protocol):
    """How a target's latest runs went; `store.breaker.HealthRecord`."""

    async def latest(self, target: str) -> tuple[RunHealth, ...]:
        """Newest first. Raises LedgerError."""
        ...


class BreakerGauge(Protocol):
    """Shows states; `telemetry.spending_metrics.SpendingMetrics`."""

    def breaker(self, target: str, state: BreakerState) -> None:
        """Show a target's state. Must not raise."""
        ...


class CircuitBreaker:
    """Scheduled runs of a target that answers only errors wait longer and longer, up to an hour.

    Its state is read from stored runs each time: what it remembers itself serves only to log a change once.
    """

    def __init__(self, health: Health, clock: Clock, *, gauge: BreakerGauge, log: Log) -> None:
        self._health = health
        self._clock = clock
        self._gauge = gauge
        self._log = log
        self._shown: dict[str, BreakerState] = {}

    async def admits(self, job: Job) -> Admission:
        """Say whether a job may start now. Manual and rollout runs always may.

        Raises:
            LedgerError: the database failed; what cannot be read decides nothing.
        """
        request = job.request
        standing = breaker(await self._health.latest(request.target), self._clock.now())
        self._show(request.target, standing.state, standing.failures)
        return admission(standing, request.trigger)

    def _show(self, target: str, state: BreakerState, failures: int) -> None:
        self._gauge.breaker(target, state)
        if state is self._shown.get(target, BreakerState.CLOSED):
            return
        self._shown[target] = state
        write = self._log.info if state is BreakerState.CLOSED else self._log.warning
        write("breaker_changed", target=target, state=state, failed_runs=failures)
