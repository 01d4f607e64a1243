"""Notices in words. Names of our own configuration, codes and counts; no text of any answer."""

import datetime as dt

from prober.domain.fault_kind import FaultKind
from prober.domain.issue import Issue, IssueChange
from prober.domain.notice import IssueNotice, Notice, TrialNotice, VerdictNotice

CLIENT = "isolation-prober"

_CHANGES = {
    IssueChange.OPENED: "opened",
    IssueChange.WORSENED: "became worse",
    IssueChange.REOPENED: "is back",
    IssueChange.ACKNOWLEDGED: "was acknowledged",
    IssueChange.SUPPRESSED: "was suppressed",
    IssueChange.RESOLVED: "was resolved",
    IssueChange.CLOSED: "was not found again in a clean run",
    IssueChange.NOTED: "was noted",
}


def title(notice: Notice) -> str:
    """Say in one line what happened."""
    match notice:
        case IssueNotice(issue=issue):
            words = _CHANGES[notice.change]
            return f"{issue.outcome.name} on {issue.target}: {issue.reason.value} {words} (issue {issue.issue_id})"
        case VerdictNotice():
            build = f" of {notice.build}" if notice.build else ""
            return f"Rollout{build} on {notice.target}: {notice.outcome.name}"
        case TrialNotice():
            return "TEST: isolation-prober can reach this receiver; nothing was found"


def detail(notice: Notice) -> str:
    """Say in a few lines what stands behind it."""
    match notice:
        case IssueNotice(issue=issue):
            lines = [_counts(issue), f"Latest run {issue.last_run_id}, finding {issue.last_finding_id}."]
            if issue.kinds:
                lines.append(f"Suspected: {', '.join(map(_kind, issue.kinds))}.")
            lines += [_donor(donor.tenant, donor.run_id, donor.canary) for donor in notice.donors]
            return "\n".join(lines)
        case VerdictNotice():
            reasons = ", ".join(reason.value for reason in notice.reasons) or "nothing found"
            return f"Run {notice.run_id}: {reasons}."
        case TrialNotice():
            return "Sent by `prober notify test`."


def _counts(issue: Issue) -> str:
    again = f", reopened {issue.reopened} times" if issue.reopened else ""
    bits = f", at most {issue.evidence_bits:.0f} bits of evidence" if issue.evidence_bits else ""
    return f"Found {issue.count} times by {issue.detector} since {stamp(issue.first_seen)}{again}{bits}."


def _kind(code: str) -> str:
    titles = {kind.value: kind.title for kind in FaultKind}
    return f"{code} {titles[code]}" if code in titles else code


def _donor(tenant: str, run_id: str, canary: str) -> str:
    return f"Text of {tenant} came out: canary {canary}, sent by run {run_id or 'unknown to this database'}."


def stamp(date: dt.datetime) -> str:
    """Render a date as RFC 3339, UTC, to the second."""
    return f"{date.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
