"""Issues and their history as table rows, and back."""

import hashlib
from typing import Any

import sqlalchemy as sa

from prober.domain.finding import Reason
from prober.domain.issue import Issue, IssueEntry
from prober.store.rows import Row
from prober.store.schema.issues import issue_history, issues
from prober.store.schema.runs import findings


def fingerprint_of(target: str, detector: str, reason: Reason) -> str:
    """64 hexadecimal digits that tell issues apart, the same in every database and version."""
    return hashlib.sha256(f"{target}\0{detector}\0{reason.value}".encode()).hexdigest()


ISSUES = sa.select(issues, findings.c.message).join_from(
    issues,
    findings,
    # SQLite may give a pruned finding's number to a new one, so its run and reason must fit as well.
    sa.and_(
        findings.c.id == issues.c.last_finding_id,
        findings.c.run_id == issues.c.last_run_id,
        findings.c.reason == issues.c.reason,
    ),
    isouter=True,
)
"""Issues with the message of their latest finding, None where that one was pruned."""


def issue_of(row: sa.Row[Any]) -> Issue:
    """Build an issue from a row of `ISSUES`."""
    # By name: `row.count` is the method of a tuple.
    fields = row._mapping  # noqa: SLF001 - the documented name
    return Issue(
        issue_id=fields["id"],
        fingerprint=fields["fingerprint"],
        target=fields["target"],
        detector=fields["detector"],
        reason=fields["reason"],
        outcome=fields["outcome"],
        state=fields["state"],
        first_seen=fields["first_seen"],
        last_seen=fields["last_seen"],
        opened_at=fields["opened_at"],
        count=fields["count"],
        reopened=fields["reopened"],
        message=fields.get("message") or "",
        kinds=tuple(fields["kinds"]),
        scenarios=tuple(fields["scenarios"]),
        evidence_bits=fields["evidence_bits"],
        last_run_id=fields["last_run_id"],
        last_finding_id=fields["last_finding_id"],
        changed_by=fields["changed_by"],
        note=fields["note"],
        suppressed_until=fields["suppressed_until"],
    )


def issue_row(issue: Issue) -> Row:
    """Build the columns of an issue that may change; what it is about and its number never do."""
    return {
        "outcome": issue.outcome,
        "state": issue.state,
        "first_seen": issue.first_seen,
        "last_seen": issue.last_seen,
        "opened_at": issue.opened_at or issue.first_seen,
        "count": issue.count,
        "reopened": issue.reopened,
        "kinds": list(issue.kinds),
        "scenarios": list(issue.scenarios),
        "evidence_bits": issue.evidence_bits,
        "last_run_id": issue.last_run_id,
        "last_finding_id": issue.last_finding_id,
        "changed_by": issue.changed_by,
        "note": issue.note,
        "suppressed_until": issue.suppressed_until,
    }


def entry_row(issue_id: int, entry: IssueEntry) -> Row:
    """Build the row of one line of an issue's history."""
    return {
        "issue_id": issue_id,
        "at": entry.at,
        "change": entry.change,
        "by": entry.by,
        "outcome": entry.outcome,
        "note": entry.note,
        "run_id": entry.run_id,
        "until": entry.until,
    }


HISTORY = sa.select(issue_history).order_by(issue_history.c.id)


def entry_of(row: sa.Row[Any]) -> IssueEntry:
    """Build one line of an issue's history from its row."""
    return IssueEntry(
        at=row.at,
        change=row.change,
        by=row.by,
        outcome=row.outcome,
        note=row.note,
        run_id=row.run_id,
        until=row.until,
    )
