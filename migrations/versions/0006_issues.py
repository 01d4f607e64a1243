"""Findings folded into issues, and the outbox of what is to be told about them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
UTC_DATE = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "issues",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=False),
        sa.Column("detector", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=False),
        sa.Column("outcome", sa.String(length=40), nullable=False, comment="worst since it was opened"),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.Column("first_seen", UTC_DATE, nullable=False),
        sa.Column("last_seen", UTC_DATE, nullable=False),
        sa.Column("opened_at", UTC_DATE, nullable=False, comment="or opened again last"),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("reopened", sa.Integer(), nullable=False),
        sa.Column("kinds", JSON, nullable=False),
        sa.Column("scenarios", JSON, nullable=False, comment="that found it since it was opened"),
        sa.Column("evidence_bits", sa.Double(), nullable=False, comment="most since it was opened"),
        sa.Column("last_run_id", sa.String(length=200), nullable=False),
        sa.Column("last_finding_id", ID, nullable=False, comment="may be pruned before the issue"),
        sa.Column("changed_by", sa.String(length=200), nullable=False),
        sa.Column("note", sa.String(length=1000), nullable=False),
        sa.Column("suppressed_until", UTC_DATE, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_issues"),
        sa.UniqueConstraint("fingerprint", name="uq_issues_fingerprint"),
        comment="one row per target, detector and reason",
    )
    op.create_index("ix_issues_target_state", "issues", ["target", "state"], unique=False)
    op.create_table(
        "issue_history",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("issue_id", ID, nullable=False),
        sa.Column("at", UTC_DATE, nullable=False),
        sa.Column("change", sa.String(length=40), nullable=False),
        sa.Column("by", sa.String(length=200), nullable=False, comment="empty: the prober"),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.Column("note", sa.String(length=1000), nullable=False),
        sa.Column("run_id", sa.String(length=200), nullable=False),
        sa.Column("until", UTC_DATE, nullable=True),
        sa.ForeignKeyConstraint(
            ["issue_id"], ["issues.id"], name="fk_issue_history_issue_id_issues", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_issue_history"),
        comment="who did what to an issue, and when",
    )
    op.create_index("ix_issue_history_issue_id", "issue_history", ["issue_id"], unique=False)
    op.create_table(
        "notices",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("event_id", sa.String(length=200), nullable=False),
        sa.Column("receiver", sa.String(length=200), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False, comment="told in order"),
        sa.Column("facts", JSON, nullable=False, comment="ids, hashes, counts, codes"),
        sa.Column("created_at", UTC_DATE, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("sent_at", UTC_DATE, nullable=True),
        sa.Column("failed_at", UTC_DATE, nullable=True, comment="given up"),
        sa.Column("message_id", sa.String(length=200), nullable=True, comment="of the message it went out with"),
        sa.Column("last_answer", sa.String(length=200), nullable=False, comment="status or fault, in our words"),
        sa.PrimaryKeyConstraint("id", name="pk_notices"),
        sa.UniqueConstraint("event_id", "receiver", name="uq_notices_event_id_receiver"),
        comment="outbox: one row per event and receiver",
    )
    op.create_index(
        "ix_notices_receiver_sent_at_failed_at", "notices", ["receiver", "sent_at", "failed_at"], unique=False
    )
    op.create_table(
        "receivers",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("holder", sa.String(length=200), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", UTC_DATE, nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False, comment="in a row"),
        sa.Column("paused_until", UTC_DATE, nullable=True),
        sa.Column("refreshed_at", UTC_DATE, nullable=True, comment="open issues told anew, where that is needed"),
        sa.PrimaryKeyConstraint("name", name="pk_receivers"),
        comment="which replica sends to a receiver, and how it fares",
    )


def downgrade() -> None:
    op.drop_table("receivers")
    op.drop_index("ix_notices_receiver_sent_at_failed_at", table_name="notices")
    op.drop_table("notices")
    op.drop_index("ix_issue_history_issue_id", table_name="issue_history")
    op.drop_table("issue_history")
    op.drop_index("ix_issues_target_state", table_name="issues")
    op.drop_table("issues")
