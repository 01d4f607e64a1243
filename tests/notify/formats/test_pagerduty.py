"""PagerDuty's Events API v2.

Recorded from developer.pagerduty.com, "Send an alert event": required are `routing_key`, `event_action` (trigger,
acknowledge, resolve) and, to trigger, `payload.summary` (at most 1,024 characters), `payload.source` and
`payload.severity` (critical, error, warning, info); `dedup_key` (at most 255) ties events of one incident together and
is required to acknowledge and resolve; optional are `payload.timestamp`, `component`, `group`, `class`,
`custom_details`, and `client`, `client_url`, `links`, `images` beside the payload.
"""

import json

import pytest

from prober.domain.issue import IssueChange
from prober.domain.notice import TrialNotice
from prober.domain.outcome import Outcome
from prober.notify.formats.pagerduty import compose
from tests.support.issues import SEEN, a_notice, a_verdict_notice, an_issue

KEY = "R0123456789abcdef0123456789abcde"
TOP = {"routing_key", "event_action", "dedup_key", "payload", "client", "client_url", "links", "images"}
PAYLOAD = {"summary", "source", "severity", "timestamp", "component", "group", "class", "custom_details"}


def events(*notices: object) -> list[dict]:
    found = [json.loads(message.body) for message in compose(notices, KEY, SEEN)]
    for event in found:
        assert event["routing_key"] == KEY
        assert set(event) <= TOP
        assert len(event["dedup_key"]) <= 255
        if event["event_action"] == "trigger":
            assert {"summary", "source", "severity"} <= set(event["payload"]) <= PAYLOAD
            assert len(event["payload"]["summary"]) <= 1_024
            assert event["payload"]["severity"] in {"critical", "error", "warning", "info"}
    return found


@pytest.mark.parametrize(
    ("change", "action"),
    [
        (IssueChange.OPENED, "trigger"),
        (IssueChange.WORSENED, "trigger"),
        (IssueChange.REOPENED, "trigger"),
        (IssueChange.ACKNOWLEDGED, "acknowledge"),
        (IssueChange.SUPPRESSED, "resolve"),
        (IssueChange.RESOLVED, "resolve"),
        (IssueChange.CLOSED, "resolve"),
    ],
)
def test_one_incident_follows_its_issue(change: IssueChange, action: str):
    """Each change is the action that PagerDuty has for it, on the incident of the issue's fingerprint."""
    (event,) = events(a_notice(change))

    assert (event["event_action"], event["dedup_key"]) == (action, an_issue().fingerprint)


def test_a_trigger_says_what_and_where():
    """Source, class and group sort incidents; the details are those of the webhook."""
    (event,) = events(a_notice())
    (suspicion,) = events(a_notice(outcome=Outcome.SUSPECT))
    payload = event["payload"]

    assert (payload["source"], payload["component"], payload["class"]) == (
        "staging",
        "foreign_canary",
        "foreign_canary",
    )
    assert (payload["severity"], suspicion["payload"]["severity"]) == ("critical", "warning")
    assert payload["timestamp"] == "2026-09-01T12:00:05Z"
    assert payload["custom_details"]["issue"]["count"] == 3


def test_a_trial_leaves_no_incident_open():
    """It triggers at the lowest severity, says that it is a test, and resolves the same incident."""
    trigger, resolve = events(TrialNotice(event_id="test-1", at=SEEN))

    assert (trigger["event_action"], trigger["payload"]["severity"]) == ("trigger", "info")
    assert "TEST" in trigger["payload"]["summary"]
    assert (resolve["event_action"], resolve["dedup_key"]) == ("resolve", trigger["dedup_key"])


def test_verdicts_are_no_incidents():
    """What a rollout's run found has its own incidents."""
    assert events(a_verdict_notice()) == []
