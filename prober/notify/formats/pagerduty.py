"""PagerDuty's Events API v2: one incident per issue.

Source: developer.pagerduty.com, "Events API v2 overview" and "Send an alert event" (PD-CEF fields, `dedup_key`, 202).
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from prober.domain.issue import IssueChange
from prober.domain.notice import IssueNotice, Notice, TrialNotice
from prober.domain.outcome import Outcome
from prober.notify.facts import event
from prober.notify.formats.format import Format
from prober.notify.message import Message, json_message
from prober.notify.wording import CLIENT, stamp, title

URL = "https://events.pagerduty.com/v2/enqueue"

_MAX_SUMMARY = 1_024
_KEY_LENGTH = 32
"""Another length is answered with 400, as an event that can never be taken is."""

_SEVERITIES = {Outcome.VIOLATION: "critical", Outcome.SUSPECT: "warning"}


def compose(notices: Sequence[Notice], secret: str | None, now: dt.datetime) -> Sequence[Message]:
    """Build one event per notice; a trial opens an incident of severity `info` and resolves it at once."""
    del now
    return tuple(
        json_message({"routing_key": secret or "", "client": CLIENT, **fields})
        for notice in notices
        for fields in _events(notice)
    )


def _events(notice: Notice) -> Sequence[dict[str, Any]]:
    if isinstance(notice, IssueNotice):
        return (_of_issue(notice),)
    if isinstance(notice, TrialNotice):
        trigger = {"event_action": "trigger", "dedup_key": notice.event_id, "payload": _payload(notice, CLIENT, "info")}
        return (trigger, {"event_action": "resolve", "dedup_key": notice.event_id})
    return ()


def _of_issue(notice: IssueNotice) -> dict[str, Any]:
    """Trigger, acknowledge or resolve; the issue's fingerprint ties them together."""
    issue = notice.issue
    if notice.change.is_end:
        return {"event_action": "resolve", "dedup_key": issue.fingerprint}
    if notice.change is IssueChange.ACKNOWLEDGED:
        return {"event_action": "acknowledge", "dedup_key": issue.fingerprint}
    payload = {
        **_payload(notice, issue.target, _SEVERITIES[issue.outcome]),
        "component": issue.detector,
        "group": issue.target,
        "class": issue.reason.value,
        "custom_details": event(notice),
    }
    return {"event_action": "trigger", "dedup_key": issue.fingerprint, "payload": payload}


def _payload(notice: Notice, source: str, severity: str) -> dict[str, Any]:
    return {
        "summary": title(notice)[:_MAX_SUMMARY],
        "source": source,
        "severity": severity,
        "timestamp": stamp(notice.at),
    }


PAGERDUTY = Format(compose=compose, default_url=URL, folds=False, takes_verdicts=False, secret_length=_KEY_LENGTH)
