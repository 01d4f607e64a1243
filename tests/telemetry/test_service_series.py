"""Series of the service."""

import datetime as dt

import pytest
from prometheus_client import CollectorRegistry

from prober.domain.job import JobState, MissedReason
from prober.telemetry.service_series import Reload, ServiceSeries

NOW = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)


class Shown:
    """A registry with the service's series."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.series = ServiceSeries(self.registry, targets=["glm"])

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"prober_{name}", labels)


@pytest.fixture
def shown() -> Shown:
    return Shown()


def test_every_label_set_exists_from_the_start(shown: Shown):
    """At 0, of new targets too: a counter born at 1 alerts nobody."""
    shown.series.announce("kimi")
    for target in ("glm", "kimi"):
        assert shown.value("slots_queued_total", target=target) == 0
        assert shown.value("last_scheduled_run_timestamp_seconds", target=target) == 0
        for reason in MissedReason:
            assert shown.value("slots_missed_total", target=target, reason=reason.value) == 0
    for state in JobState:
        assert shown.value("jobs", state=state.value) == 0
    for outcome in Reload:
        assert shown.value("reloads_total", outcome=outcome.value) == 0
    for name in (
        "scheduler_misfires_total",
        "leases_lost_total",
        "jobs_taken_back_total",
        "heartbeat_timestamp_seconds",
    ):
        assert shown.value(name) == 0


def test_what_happens_shows(shown: Shown):
    """Each event in its own series."""
    series = shown.series
    series.slot_queued("glm")
    series.slot_missed("glm", MissedReason.OVERLAP)
    series.slots_dealt(dt.timedelta(seconds=2))
    series.misfire()
    series.queue_seen({JobState.QUEUED: 3}, dt.timedelta(seconds=9), NOW)
    series.held(2)
    series.scheduled_run_ended("glm", NOW)
    series.lease_lost()
    series.taken_back(4)
    series.reloaded(Reload.REFUSED)
    series.loop_lagged(0.25)
    series.stopped(is_thrown=True)
    series.draining()

    assert {
        "queued": shown.value("slots_queued_total", target="glm"),
        "missed": shown.value("slots_missed_total", target="glm", reason="overlap"),
        "lag": shown.value("scheduler_lag_seconds"),
        "misfires": shown.value("scheduler_misfires_total"),
        "jobs": shown.value("jobs", state="queued"),
        "age": shown.value("queue_age_seconds"),
        "heartbeat": shown.value("heartbeat_timestamp_seconds"),
        "held": shown.value("jobs_held"),
        "deadman": shown.value("last_scheduled_run_timestamp_seconds", target="glm"),
        "lost": shown.value("leases_lost_total"),
        "back": shown.value("jobs_taken_back_total"),
        "refused": shown.value("reloads_total", outcome="refused"),
        "loop": shown.value("event_loop_lag_seconds"),
        "stop": shown.value("global_stop"),
        "draining": shown.value("draining"),
    } == {
        "queued": 1,
        "missed": 1,
        "lag": 2,
        "misfires": 1,
        "jobs": 3,
        "age": 9,
        "heartbeat": NOW.timestamp(),
        "held": 2,
        "deadman": NOW.timestamp(),
        "lost": 1,
        "back": 4,
        "refused": 1,
        "loop": 0.25,
        "stop": 1,
        "draining": 1,
    }


def test_what_is_over_no_longer_shows(shown: Shown):
    """States without jobs go back to 0, and a clock that stepped back makes no negative lag."""
    shown.series.queue_seen({JobState.QUEUED: 3}, dt.timedelta(seconds=9), NOW)
    shown.series.queue_seen({}, dt.timedelta(0), NOW)
    shown.series.slots_dealt(dt.timedelta(seconds=-5))
    shown.series.stopped(is_thrown=False)

    assert shown.value("jobs", state="queued") == 0
    assert shown.value("queue_age_seconds") == 0
    assert shown.value("scheduler_lag_seconds") == 0
    assert shown.value("global_stop") == 0


def test_schedules_show_how_far_apart_runs_are(shown: Shown):
    """Of targets that have any; what a reload takes away is 0 again."""
    shown.series.announce("kimi")
    shown.series.scheduled({"glm": dt.timedelta(minutes=15), "stranger": dt.timedelta(1)})

    assert shown.value("schedule_period_seconds", target="glm") == 900
    assert shown.value("schedule_period_seconds", target="kimi") == 0
    assert shown.value("schedule_period_seconds", target="stranger") is None

    shown.series.scheduled({})
    assert shown.value("schedule_period_seconds", target="glm") == 0


def test_the_databases_size_is_shown_beside_its_cap(shown: Shown):
    """Growth can be alerted on before the cap deletes what is young."""
    shown.series.database_pruned(300, 1_000)

    assert shown.value("database_bytes") == 300
    assert shown.value("database_cap_bytes") == 1_000
