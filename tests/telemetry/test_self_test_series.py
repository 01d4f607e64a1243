"""Series of the service's self-test."""

import dataclasses
import datetime as dt

import pytest
from prometheus_client import CollectorRegistry

from prober.domain.outcome import Outcome
from prober.domain.verdict import Spending
from prober.telemetry.self_test_series import SelfTestSeries, SelfTestTelemetry, Step
from tests.support.reports import a_clean_report, a_leak, a_run
from tests.support.stored import judged

NOW = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)


class Shown:
    """A registry with the self-test's series."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.series = SelfTestSeries(self.registry)

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"prober_selftest_{name}", labels)


@pytest.fixture
def shown() -> Shown:
    return Shown()


def test_every_label_set_exists_from_the_start(shown: Shown):
    """At 0: the first failure must show as an increase, and nothing looks like a success before there was one."""
    for step in Step:
        assert shown.value("failures_total", step=step.value) == 0
    for outcome in ("passed", "failed"):
        assert shown.value("runs_total", outcome=outcome) == 0
    for name in ("violations_total", "success", "last_success_timestamp_seconds", "duration_seconds"):
        assert shown.value(name) == 0


def test_success_and_failure_show_apart(shown: Shown):
    """A failure takes the success back, but not its date: that is the deadman's."""
    shown.series.passed(NOW, 4.5)
    assert shown.value("success") == 1
    assert shown.value("duration_seconds") == 4.5

    shown.series.failed(Step.LEDGER, 7.0)
    assert shown.value("success") == 0
    assert shown.value("last_success_timestamp_seconds") == NOW.timestamp()
    assert shown.value("duration_seconds") == 7.0
    assert shown.value("failures_total", step="ledger") == 1
    assert [shown.value("runs_total", outcome=outcome) for outcome in ("passed", "failed")] == [1, 1]


def test_only_what_its_run_finds_shows(shown: Shown):
    """Violations count; faults of our own are the prober's; a run, its waves and its verdict show nowhere."""
    faults: list[tuple[str, BaseException]] = []
    telemetry = SelfTestTelemetry(shown.series, lambda *fault: faults.append(fault))
    run, error = a_run(), ValueError("planted")

    telemetry.run_started(run, Spending())
    telemetry.budget_short(run, ())
    telemetry.probe_judged(run, judged(a_leak(), dataclasses.replace(a_leak(), outcome=Outcome.SUSPECT)), Spending())
    telemetry.database_awaited(run, "its server is away", 9)
    telemetry.database_back(run, 1)
    telemetry.run_ended(a_clean_report())
    telemetry.internal_error("detector", error)

    assert shown.value("violations_total") == 1
    assert faults == [("detector", error)]
    assert shown.value("runs_total", outcome="passed") == 0
