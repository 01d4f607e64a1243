"""Findings folded into issues, and the outbox of what is to be told about them."""

import sqlalchemy as sa

from prober.domain.finding import Reason
from prober.domain.issue import IssueChange, IssueState
from prober.domain.outcome import Outcome
from prober.store.schema.columns import ID, JSON, NAME_LENGTH, Code, UtcDateTime, id_column, metadata, refers

NOTE_LENGTH = 1_000
"""What a person may write about an issue."""

issues = sa.Table(
    "issues",
    metadata,
    id_column(),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("target", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("detector", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("reason", Code(Reason), nullable=False),
    sa.Column("outcome", Code(Outcome), nullable=False, comment="worst since it was opened"),
    sa.Column("state", Code(IssueState), nullable=False),
    sa.Column("first_seen", UtcDateTime, nullable=False),
    sa.Column("last_seen", UtcDateTime, nullable=False),
    sa.Column("opened_at", UtcDateTime, nullable=False, comment="or opened again last"),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Column("reopened", sa.Integer, nullable=False),
    sa.Column("kinds", JSON, nullable=False),
    sa.Column("scenarios", JSON, nullable=False, comment="that found it since it was opened"),
    sa.Column("evidence_bits", sa.Double, nullable=False, comment="most since it was opened"),
    sa.Column("last_run_id", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("last_finding_id", ID, nullable=False, comment="may be pruned before the issue"),
    sa.Column("changed_by", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("note", sa.String(NOTE_LENGTH), nullable=False),
    sa.Column("suppressed_until", UtcDateTime),
    sa.UniqueConstraint("fingerprint"),
    sa.Index(None, "target", "state"),
    comment="one row per target, detector and reason",
)

issue_history = sa.Table(
    "issue_history",
    metadata,
    id_column(),
    refers("issue_id", "issues.id"),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("change", Code(IssueChange), nullable=False),
    sa.Column("by", sa.String(NAME_LENGTH), nullable=False, comment="empty: the prober"),
    sa.Column("outcome", Code(Outcome), nullable=False),
    sa.Column("note", sa.String(NOTE_LENGTH), nullable=False),
    sa.Column("run_id", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("until", UtcDateTime),
    comment="who did what to an issue, and when",
)

notices = sa.Table(
    "notices",
    metadata,
    id_column(),
    sa.Column("event_id", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("receiver", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("subject", sa.String(NAME_LENGTH), nullable=False, comment="told in order"),
    sa.Column("facts", JSON, nullable=False, comment="ids, hashes, counts, codes"),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("sent_at", UtcDateTime),
    sa.Column("failed_at", UtcDateTime, comment="given up"),
    sa.Column("message_id", sa.String(NAME_LENGTH), comment="of the message it went out with"),
    sa.Column("last_answer", sa.String(NAME_LENGTH), nullable=False, comment="status or fault, in our words"),
    sa.UniqueConstraint("event_id", "receiver"),
    sa.Index(None, "receiver", "sent_at", "failed_at"),
    comment="outbox: one row per event and receiver",
)

receivers = sa.Table(
    "receivers",
    metadata,
    sa.Column("name", sa.String(NAME_LENGTH), primary_key=True),
    sa.Column("holder", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("fence", sa.BigInteger, nullable=False),
    sa.Column("lease_until", UtcDateTime),
    sa.Column("failures", sa.Integer, nullable=False, comment="in a row"),
    sa.Column("paused_until", UtcDateTime),
    sa.Column("refreshed_at", UtcDateTime, comment="open issues told anew, where that is needed"),
    comment="which replica sends to a receiver, and how it fares",
)
