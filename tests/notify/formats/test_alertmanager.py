"""Alertmanager's API v2.

Recorded from api/v2/openapi.yaml of prometheus/alertmanager: `postableAlerts` is a list of objects with `labels`
(required), `annotations` (both maps of text to text), `startsAt`, `endsAt` (date-time) and `generatorURL`. An alert
whose end lies before its start is refused (types/types.go, Alert.Validate).
"""

import datetime as dt
import json

from prober.domain.issue import IssueChange
from prober.domain.notice import TrialNotice
from prober.domain.outcome import Outcome
from prober.notify.formats.alertmanager import VALID_FOR, compose
from tests.support.issues import SEEN, a_notice, a_verdict_notice

NOW = SEEN + dt.timedelta(minutes=10)


def alerts(*notices: object, secret: str | None = None) -> list[dict]:
    found = [alert for message in compose(notices, secret, NOW) for alert in json.loads(message.body)]
    for alert in found:
        assert set(alert) <= {"labels", "annotations", "startsAt", "endsAt", "generatorURL"}
        texts = [*alert["labels"].items(), *alert["annotations"].items()]
        assert all(isinstance(part, str) for pair in texts for part in pair)
        assert date(alert["startsAt"]) <= date(alert["endsAt"])
    return found


def date(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def test_an_open_issue_is_an_alert_that_outlives_a_restart_of_ours():
    """It starts when the issue was opened and is valid for an hour from now, far longer than it takes to tell anew."""
    (alert,) = alerts(a_notice())

    assert (date(alert["startsAt"]), date(alert["endsAt"])) == (SEEN, NOW + VALID_FOR)
    assert alert["labels"] == {
        "alertname": "IsolationProberIssue",
        "target": "staging",
        "detector": "foreign_canary",
        "reason": "foreign_canary",
        "severity": "critical",
    }
    assert alert["annotations"]["event_id"] == "event-1"


def test_an_issue_that_is_settled_ends_under_the_same_labels():
    """Labels are an alert's identity: count, state and dates are no part of them."""
    (opened,), *ended = (
        alerts(a_notice()),
        *(
            alerts(a_notice(change, count=99, reopened=3))
            for change in (IssueChange.RESOLVED, IssueChange.CLOSED, IssueChange.SUPPRESSED)
        ),
    )

    for (alert,) in ended:
        assert alert["labels"] == opened["labels"]
        assert date(alert["endsAt"]) == NOW


def test_what_becomes_worse_leaves_no_milder_alert_behind():
    """The warning ends as the critical alert begins."""
    worse, milder = alerts(a_notice(IssueChange.WORSENED))

    assert (worse["labels"]["severity"], milder["labels"]["severity"]) == ("critical", "warning")
    assert (date(worse["endsAt"]), date(milder["endsAt"])) == (NOW + VALID_FOR, NOW)
    assert worse["labels"] | {"severity": "warning"} == milder["labels"]


def test_one_message_holds_the_last_state_of_each_alert():
    """Several changes of one issue in one message would be merged by Alertmanager."""
    (alert,) = alerts(a_notice(event_id="e1"), a_notice(IssueChange.CLOSED, event_id="e2"))
    assert (date(alert["endsAt"]), alert["annotations"]["event_id"]) == (NOW, "e2")

    both = alerts(a_notice(), a_notice(outcome=Outcome.SUSPECT, detector="prefill_floor"))
    assert [each["labels"]["severity"] for each in both] == ["critical", "warning"]


def test_a_clock_that_went_back_makes_no_alert_that_is_refused():
    """An end before the start would be a 400, and the notice be given up."""
    (alert,) = alerts(a_notice(IssueChange.CLOSED, opened_at=NOW + dt.timedelta(hours=1)))

    assert alert["startsAt"] == alert["endsAt"]


def test_nothing_to_tell_is_no_message():
    """Verdicts are no alerts, and no open issue needs no refresh."""
    assert alerts() == []
    assert alerts(a_verdict_notice()) == []


def test_a_trial_ends_by_itself():
    """A minute later nothing is left of it, and no rule for issues matches it."""
    (alert,) = alerts(TrialNotice(event_id="test-1", at=NOW))

    assert (alert["labels"]["alertname"], alert["labels"]["severity"]) == ("IsolationProberTest", "info")
    assert date(alert["endsAt"]) - NOW == dt.timedelta(minutes=1)


def test_a_secret_is_a_bearer_token():
    """For a proxy in front of an Alertmanager that knows no users."""
    (with_secret,) = compose([a_notice()], "proxy-token", NOW)
    (without,) = compose([a_notice()], None, NOW)

    assert with_secret.headers["Authorization"] == "Bearer proxy-token"
    assert "Authorization" not in without.headers
