"""Series of the service's self-test: does the prober itself see a leak, and tell of it?"""

import datetime as dt
import enum
from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge

from prober.domain.budget import Shortage
from prober.domain.campaign import Run
from prober.domain.evidence import Judgement
from prober.domain.outcome import Outcome
from prober.domain.probe import Wave
from prober.domain.verdict import RunReport, Spending

VIOLATIONS = "prober_selftest_violations_total"
"""What every self-test must move."""


class Step(enum.Enum):
    """What a self-test goes through, in this order."""

    LAB = "lab"
    """The lab that leaks is started."""
    DETECTOR = "detector"
    """A run against it finds the leak, for the right reason."""
    LEDGER = "ledger"
    """The finding is read back from the database."""
    METRIC = "metric"
    """The finding is read back from the metrics."""
    ALERT = "alert"
    """A receiver is told that the issue was opened, and that it was settled."""


class SelfTestSeries:
    """Publishes how self-tests went. Every label set exists from the start."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"prober_selftest_{name}_total", meaning, labels, registry=registry)

        def gauge(name: str, meaning: str) -> Gauge:
            return Gauge(f"prober_selftest_{name}", meaning, registry=registry)

        self._runs = counter("runs", "Self-tests before scheduled runs, by how they ended.", "outcome")
        self._failures = counter("failures", "Self-tests that failed, by the step at which they did.", "step")
        self._violations = counter("violations", "Violations found by self-tests, in a lab that leaks.")
        self._success = gauge("success", "1 if the latest self-test succeeded; 0: it failed, or there was none.")
        self._at = gauge("last_success_timestamp_seconds", "End of the latest self-test that succeeded; 0: none.")
        self._duration = gauge("duration_seconds", "How long the latest self-test took; 0: there was none.")
        for outcome in ("passed", "failed"):
            self._runs.labels(outcome)
        for step in Step:
            self._failures.labels(step.value)

    def passed(self, now: dt.datetime, seconds: float) -> None:
        """Show that a self-test succeeded."""
        self._runs.labels("passed").inc()
        self._success.set(1)
        self._at.set(now.timestamp())
        self._duration.set(seconds)

    def failed(self, step: Step, seconds: float) -> None:
        """Show that a self-test failed."""
        self._runs.labels("failed").inc()
        self._failures.labels(step.value).inc()
        self._success.set(0)
        self._duration.set(seconds)

    def found(self, violations: int) -> None:
        """Count violations that a self-test's run found."""
        self._violations.inc(violations)


class SelfTestTelemetry:
    """What a self-test's run publishes where users look. Satisfies `runner.ports.Telemetry`.

    Args:
        series: where the violations count that must be found.
        report_fault: takes faults of our own: they are the prober's, whatever it was probing.
    """

    def __init__(self, series: SelfTestSeries, report_fault: Callable[[str, BaseException], None]) -> None:
        self._series = series
        self._report_fault = report_fault

    def run_started(self, run: Run, estimate: Spending) -> None:
        """Nothing: it is no run of the users'."""

    def budget_short(self, run: Run, shortages: Sequence[Shortage]) -> None:
        """Nothing: it has no budget."""

    def wave_started(self, run: Run, wave: Wave, spent: Spending) -> None:
        """Nothing: only what is found counts."""

    def probe_judged(self, run: Run, judgement: Judgement, spent: Spending) -> None:  # noqa: ARG002 - as telemetry tells
        """Count violations."""
        self._series.found(sum(finding.outcome is Outcome.VIOLATION for finding in judgement.findings))

    def run_ended(self, report: RunReport) -> None:
        """Nothing: the verdict is read back from the ledger."""

    def database_awaited(self, run: Run, why: str, seconds: float) -> None:
        """Nothing: the self-test has a bound of its own."""

    def database_back(self, run: Run, seconds: float) -> None:
        """Nothing, likewise."""

    def internal_error(self, component: str, error: BaseException) -> None:
        """Pass on a fault of our own."""
        self._report_fault(component, error)
