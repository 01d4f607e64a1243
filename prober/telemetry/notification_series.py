"""Prometheus series of issues and of what people are told about them."""

import datetime as dt
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge

from prober.domain.outcome import Outcome
from prober.telemetry.series import BAD_OUTCOMES

OTHER_RECEIVER = "other"
"""Stands for receivers that this process does not know: nobody may be left who sends to them."""


class NotificationSeries:
    """Series of one registry; every label set exists from the start."""

    def __init__(self, registry: CollectorRegistry, *, targets: Iterable[str], receivers: Iterable[str]) -> None:
        self._targets: dict[str, None] = {}
        self._receivers = tuple(receivers)
        self._open = Gauge(
            "prober_open_issues",
            "Issues open or acknowledged, of all replicas.",
            ("target", "outcome"),
            registry=registry,
        )
        self._sent = self._counter(registry, "notices_sent", "Notices that a receiver took.")
        self._failed = self._counter(registry, "notice_attempts_failed", "Attempts that a receiver did not take.")
        self._pending = self._gauge(registry, "notices_pending", "Notices waiting.")
        self._given_up = self._gauge(registry, "notices_given_up", "Notices given up, of the last 90 days.")
        self._age = self._gauge(
            registry, "oldest_pending_notice_age_seconds", "How long the oldest notice has been waiting; 0: none is."
        )
        for target in targets:
            self.announce(target)
        for receiver in (*self._receivers, OTHER_RECEIVER):
            for family in (self._sent, self._failed, self._pending, self._given_up, self._age):
                family.labels(receiver)

    def announce(self, target: str) -> None:
        """Create every label set of a target that is new."""
        self._targets[target] = None
        for outcome in BAD_OUTCOMES:
            self._open.labels(target, outcome.value)

    def show_open(self, counts: Mapping[tuple[str, Outcome], int]) -> None:
        """Publish how many issues count, by target and outcome; targets that were not announced are left out."""
        for target in self._targets:
            for outcome in BAD_OUTCOMES:
                self._open.labels(target, outcome.value).set(counts.get((target, outcome), 0))

    def count_sent(self, receiver: str, notices: int) -> None:
        """Count notices that went out."""
        self._sent.labels(receiver).inc(notices)

    def count_failed(self, receiver: str) -> None:
        """Count an attempt that failed."""
        self._failed.labels(receiver).inc()

    def show_backlog(self, backlog: Mapping[str, tuple[int, int, dt.datetime | None]], now: dt.datetime) -> None:
        """Publish what waits: pending, given up and the oldest pending one's date, by receiver."""
        shown = dict.fromkeys((*self._receivers, OTHER_RECEIVER), (0, 0, 0.0))
        for receiver, (pending, given_up, oldest_at) in backlog.items():
            name = receiver if receiver in self._receivers else OTHER_RECEIVER
            age = 0.0 if oldest_at is None else max(0.0, (now - oldest_at).total_seconds())
            before = shown[name]
            shown[name] = (before[0] + pending, before[1] + given_up, max(before[2], age))
        for name, (pending, given_up, age) in shown.items():
            self._pending.labels(name).set(pending)
            self._given_up.labels(name).set(given_up)
            self._age.labels(name).set(age)

    def _counter(self, registry: CollectorRegistry, name: str, meaning: str) -> Counter:
        return Counter(f"prober_{name}_total", meaning, ("receiver",), registry=registry)

    def _gauge(self, registry: CollectorRegistry, name: str, meaning: str) -> Gauge:
        return Gauge(f"prober_{name}", meaning, ("receiver",), registry=registry)
