"""Notices as JSON values: the stable, versioned form that webhooks carry. Explained in docs/notifications.md."""

from typing import Any

from prober.domain.issue import Issue
from prober.domain.notice import IssueNotice, Notice, TrialNotice, VerdictNotice
from prober.notify.wording import stamp, title

VERSION = 1


def event(notice: Notice) -> dict[str, Any]:
    """Render one notice."""
    head = {"id": notice.event_id, "type": kind_of(notice), "at": stamp(notice.at), "title": title(notice)}
    match notice:
        case IssueNotice():
            donors = [
                {"tenant": donor.tenant, "canary": donor.canary, "run_id": donor.run_id or None}
                for donor in notice.donors
            ]
            return {**head, "issue": issue_facts(notice.issue), "donors": donors}
        case VerdictNotice():
            verdict = {
                "run_id": notice.run_id,
                "target": notice.target,
                "build": notice.build or None,
                "outcome": notice.outcome.value,
                "reasons": [reason.value for reason in notice.reasons],
            }
            return {**head, "verdict": verdict}
        case TrialNotice():
            return head


def kind_of(notice: Notice) -> str:
    """Name what a notice is about, and what happened."""
    match notice:
        case IssueNotice():
            return f"issue.{notice.change.value}"
        case VerdictNotice():
            return "rollout.verdict"
        case TrialNotice():
            return "test"


def issue_facts(issue: Issue) -> dict[str, Any]:
    """Render an issue, without what people and detectors wrote about it."""
    until = issue.suppressed_until
    return {
        "id": issue.issue_id,
        "fingerprint": issue.fingerprint,
        "target": issue.target,
        "detector": issue.detector,
        "reason": issue.reason.value,
        "outcome": issue.outcome.value,
        "state": issue.state.value,
        "first_seen": stamp(issue.first_seen),
        "last_seen": stamp(issue.last_seen),
        "count": issue.count,
        "reopened": issue.reopened,
        "kinds": list(issue.kinds),
        "scenarios": list(issue.scenarios),
        "evidence_bits": issue.evidence_bits,
        "last_run_id": issue.last_run_id,
        "last_finding_id": issue.last_finding_id,
        "suppressed_until": None if until is None else stamp(until),
    }
