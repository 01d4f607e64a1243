"""Who is logged in on the pages of the service."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "web_sessions",
        sa.Column("session_sha256", sa.String(64), nullable=False),
        sa.Column("token_id", sa.String(200), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False, comment="to the minute"),
        sa.ForeignKeyConstraint(
            ["token_id"],
            ["api_tokens.token_id"],
            name=op.f("fk_web_sessions_token_id_api_tokens"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("session_sha256", name=op.f("pk_web_sessions")),
        comment="logins on the pages, hashed; over after a while",
    )
    op.create_index(op.f("ix_web_sessions_seen_at"), "web_sessions", ["seen_at"])


def downgrade() -> None:
    op.drop_index(op.f("ix_web_sessions_seen_at"), table_name="web_sessions")
    op.drop_table("web_sessions")
