"""Series of issues and notices."""

import datetime as dt

import pytest
from prometheus_client import CollectorRegistry

from prober.domain.outcome import Outcome
from prober.telemetry.notification_series import NotificationSeries
from tests.support.issues import SEEN


class Shown:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.series = NotificationSeries(self.registry, targets=iter(["staging"]), receivers=iter(["ops"]))

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"prober_{name}", labels)


@pytest.fixture
def shown() -> Shown:
    return Shown()


def test_every_label_set_exists_from_the_start(shown: Shown):
    """At 0, for each receiver, for all those that nobody knows, and for each target."""
    names = (
        "notices_sent_total",
        "notice_attempts_failed_total",
        "notices_pending",
        "notices_given_up",
        "oldest_pending_notice_age_seconds",
    )
    assert [shown.value(name, receiver=each) for name in names for each in ("ops", "other")] == [0.0] * 10
    assert [shown.value("open_issues", target="staging", outcome=o) for o in ("suspect", "violation")] == [0.0, 0.0]


def test_open_issues_are_those_of_the_database(shown: Shown):
    """Set, not added to; what is gone is 0 again, and no label is made up."""
    shown.series.show_open({("staging", Outcome.VIOLATION): 2, ("unknown", Outcome.VIOLATION): 7})
    assert shown.value("open_issues", target="staging", outcome="violation") == 2
    assert shown.value("open_issues", target="unknown", outcome="violation") is None

    shown.series.show_open({})
    assert shown.value("open_issues", target="staging", outcome="violation") == 0


def test_a_backlog_is_shown_by_receiver(shown: Shown):
    """Receivers that this process does not know are summed up; the oldest notice counts."""
    old, older = SEEN - dt.timedelta(seconds=5), SEEN - dt.timedelta(seconds=9)
    shown.series.show_backlog({"ops": (3, 1, old), "gone": (1, 2, old), "lost": (2, 0, older)}, SEEN)

    assert [shown.value(name, receiver="ops") for name in ("notices_pending", "notices_given_up")] == [3, 1]
    assert [shown.value(name, receiver="other") for name in ("notices_pending", "notices_given_up")] == [3, 2]
    assert shown.value("oldest_pending_notice_age_seconds", receiver="ops") == 5
    assert shown.value("oldest_pending_notice_age_seconds", receiver="other") == 9

    shown.series.show_backlog({"ops": (1, 0, SEEN + dt.timedelta(hours=1))}, SEEN)
    assert shown.value("oldest_pending_notice_age_seconds", receiver="ops") == 0
    assert shown.value("notices_pending", receiver="other") == 0


def test_what_goes_out_and_what_fails_is_counted(shown: Shown):
    """Notices, not messages; attempts, not notices."""
    shown.series.count_sent("ops", 41)
    shown.series.count_failed("ops")

    assert shown.value("notices_sent_total", receiver="ops") == 41
    assert shown.value("notice_attempts_failed_total", receiver="ops") == 1


def test_a_target_that_a_reload_brings_is_shown(shown: Shown):
    """At 0 at once, and with its issues from then on: its first leak must page like any other's."""
    shown.series.announce("young")
    assert shown.value("open_issues", target="young", outcome="violation") == 0

    shown.series.show_open({("young", Outcome.VIOLATION): 1})
    assert shown.value("open_issues", target="young", outcome="violation") == 1
