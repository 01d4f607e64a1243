"""Alertmanager's API v2. It holds states, not events: what is open is told anew each minute, as Prometheus does.

Source: prometheus.io, "Sending alerts" (clients resend firing alerts; an alert is over at its `endsAt`), and
`postableAlerts` of api/v2/openapi.yaml in prometheus/alertmanager.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from prober.domain.issue import Issue, IssueChange
from prober.domain.notice import IssueNotice, Notice, TrialNotice
from prober.domain.outcome import Outcome
from prober.notify.formats.format import Format
from prober.notify.message import Message, json_body
from prober.notify.wording import detail, stamp, title

ALERT = "IsolationProberIssue"
TRIAL_ALERT = "IsolationProberTest"

VALID_FOR = dt.timedelta(hours=1)
"""How long an alert outlives the prober: it must not be taken for resolved because the prober was restarted."""

TRIAL_FOR = dt.timedelta(minutes=1)
_SEVERITIES = {Outcome.VIOLATION: "critical", Outcome.SUSPECT: "warning"}


def compose(notices: Sequence[Notice], secret: str | None, now: dt.datetime) -> Sequence[Message]:
    """Build one message with all alerts. A secret is sent as a bearer token, for a proxy in front."""
    # Of one alert the last state counts; two in one message would be merged.
    alerts = {tuple(alert["labels"].items()): alert for notice in notices for alert in _alerts(notice, now)}
    if not alerts:
        return ()
    headers = {"Content-Type": "application/json"}
    if secret:
        headers["Authorization"] = f"Bearer {secret}"
    return (Message(headers=headers, body=json_body(list(alerts.values()))),)


def _alerts(notice: Notice, now: dt.datetime) -> Sequence[dict[str, Any]]:
    if isinstance(notice, TrialNotice):
        labels = {"alertname": TRIAL_ALERT, "severity": "info"}
        return (_alert(labels, notice, notice.at, now + TRIAL_FOR),)
    if not isinstance(notice, IssueNotice):
        return ()
    issue = notice.issue
    started = issue.opened_at or issue.first_seen
    ends = now if notice.change.is_end else now + VALID_FOR
    alerts = [_alert(_labels(issue, issue.outcome), notice, started, ends)]
    if notice.change is IssueChange.WORSENED:
        # Labels are an alert's identity: the milder one would stay until it runs out.
        alerts.append(_alert(_labels(issue, Outcome.SUSPECT), notice, started, now))
    return alerts


def _labels(issue: Issue, outcome: Outcome) -> dict[str, str]:
    return {
        "alertname": ALERT,
        "target": issue.target,
        "detector": issue.detector,
        "reason": issue.reason.value,
        "severity": _SEVERITIES[outcome],
    }


def _alert(labels: dict[str, str], notice: Notice, starts: dt.datetime, ends: dt.datetime) -> dict[str, Any]:
    annotations = {"summary": title(notice), "description": detail(notice), "event_id": notice.event_id}
    return {
        "labels": labels,
        "annotations": annotations,
        "startsAt": stamp(min(starts, ends)),
        "endsAt": stamp(ends),
    }


ALERTMANAGER = Format(compose=compose, path="/api/v2/alerts", takes_verdicts=False, refresh_seconds=60.0)
