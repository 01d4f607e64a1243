"""Series of the always-on service: does it probe, and in time?"""

import datetime as dt
import enum
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge

from prober.domain.job import JobState, MissedReason


class Reload(enum.Enum):
    """What became of a configuration that was read anew."""

    TAKEN = "taken"
    REFUSED = "refused"


class ServiceSeries:
    """Publishes the service's course. Every label set of every target exists from the start."""

    def __init__(self, registry: CollectorRegistry, *, targets: Iterable[str]) -> None:
        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"prober_{name}_total", meaning, labels, registry=registry)

        def gauge(name: str, meaning: str, *labels: str) -> Gauge:
            return Gauge(f"prober_{name}", meaning, labels, registry=registry)

        self._queued = counter("slots_queued", "Slots of schedules that this replica queued.", "target")
        self._missed = counter("slots_missed", "Slots of schedules that were not run, by why.", "target", "reason")
        self._misfires = counter("scheduler_misfires", "Wake-ups of the scheduler that did not happen in time.")
        self._lag = gauge("scheduler_lag_seconds", "How late the latest slots were dealt with.")
        self._jobs = gauge("jobs", "Runs asked for, in the whole database.", "state")
        self._oldest = gauge("queue_age_seconds", "How long the oldest queued run waits; 0: none does.")
        self._held = gauge("jobs_held", "Runs under way on this replica.")
        self._lost = counter("leases_lost", "Runs that this replica lost to another one.")
        self._taken_back = counter("jobs_taken_back", "Runs of lost replicas that this one took back.")
        self._reloads = counter("reloads", "Configurations read anew.", "outcome")
        self._loop_lag = gauge("event_loop_lag_seconds", "Worst delay of a timer on the event loop in a minute.")
        self._scheduled = gauge(
            "last_scheduled_run_timestamp_seconds", "End of the target's latest scheduled run here; 0: none.", "target"
        )
        self._period = gauge(
            "schedule_period_seconds", "Longest time between scheduled runs of the target; 0: not scheduled.", "target"
        )
        self._database = gauge("database_bytes", "Size of the database after the latest pruning; 0: none yet.")
        self._database_cap = gauge("database_cap_bytes", "Size above which the oldest rows go; 0: no pruning yet.")
        self._heartbeat = gauge("heartbeat_timestamp_seconds", "Latest time that this replica reached its database.")
        self._stopped = gauge("global_stop", "1 while the global stop switch is thrown.")
        self._draining = gauge("draining", "1 from the signal to end on.")
        self._targets: set[str] = set()
        for outcome in Reload:
            self._reloads.labels(outcome.value)
        for state in JobState:
            self._jobs.labels(state.value)
        for target in targets:
            self.announce(target)

    def announce(self, target: str) -> None:
        """Create every label set of a target."""
        self._targets.add(target)
        self._queued.labels(target)
        self._scheduled.labels(target)
        self._period.labels(target)
        for reason in MissedReason:
            self._missed.labels(target, reason.value)

    def slot_queued(self, target: str) -> None:
        """Count a slot that this replica queued."""
        self._queued.labels(target).inc()

    def slot_missed(self, target: str, reason: MissedReason) -> None:
        """Count a slot that this replica found missed."""
        self._missed.labels(target, reason.value).inc()

    def scheduled(self, periods: Mapping[str, dt.timedelta]) -> None:
        """Show how far apart the scheduled runs of each target are; targets that were not announced are left out."""
        for target in self._targets:
            self._period.labels(target).set(periods.get(target, dt.timedelta()).total_seconds())

    def database_pruned(self, size: int, cap: int) -> None:
        """Show how large the database is, and how large it may be, in bytes."""
        self._database.set(size)
        self._database_cap.set(cap)

    def slots_dealt(self, lag: dt.timedelta) -> None:
        """Show how late the latest slot was dealt with."""
        self._lag.set(max(0.0, lag.total_seconds()))

    def misfire(self) -> None:
        """Count a wake-up that did not happen in its time."""
        self._misfires.inc()

    def queue_seen(self, counts: Mapping[JobState, int], longest_wait: dt.timedelta, now: dt.datetime) -> None:
        """Show the queue as just read, and that it could be read."""
        for state in JobState:
            self._jobs.labels(state.value).set(counts.get(state, 0))
        self._oldest.set(longest_wait.total_seconds())
        self._heartbeat.set(now.timestamp())

    def held(self, count: int) -> None:
        """Show how many runs are under way here."""
        self._held.set(count)

    def scheduled_run_ended(self, target: str, now: dt.datetime) -> None:
        """Show that a scheduled run came to its verdict."""
        self._scheduled.labels(target).set(now.timestamp())

    def lease_lost(self) -> None:
        """Count a run that was lost to another replica."""
        self._lost.inc()

    def taken_back(self, count: int) -> None:
        """Count runs taken back from lost replicas."""
        self._taken_back.inc(count)

    def reloaded(self, outcome: Reload) -> None:
        """Count a configuration read anew."""
        self._reloads.labels(outcome.value).inc()

    def loop_lagged(self, worst: float) -> None:
        """Show the worst delay of the latest minute, in seconds."""
        self._loop_lag.set(worst)

    def stopped(self, *, is_thrown: bool) -> None:
        """Show the global stop switch."""
        self._stopped.set(is_thrown)

    def draining(self) -> None:
        """Show that this replica is ending."""
        self._draining.set(1)
