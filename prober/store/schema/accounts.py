"""API tokens, who they were given to and what they permit, and logins by them. Secrets are there by hash."""

import sqlalchemy as sa

from prober.store.schema.columns import JSON, NAME_LENGTH, UtcDateTime, metadata

api_tokens = sa.Table(
    "api_tokens",
    metadata,
    sa.Column("token_id", sa.String(NAME_LENGTH), primary_key=True),
    sa.Column("name", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("secret_sha256", sa.String(64), nullable=False),
    sa.Column("scopes", JSON, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime),
    sa.Column("revoked_at", UtcDateTime),
    sa.Column("last_used_at", UtcDateTime, comment="to the minute"),
    sa.UniqueConstraint("name"),
    comment="API tokens, hashed; revoked ones stay, since runs and issues name them",
)

web_sessions = sa.Table(
    "web_sessions",
    metadata,
    sa.Column("session_sha256", sa.String(64), primary_key=True),
    sa.Column(
        "token_id", sa.String(NAME_LENGTH), sa.ForeignKey("api_tokens.token_id", ondelete="CASCADE"), nullable=False
    ),
    sa.Column("opened_at", UtcDateTime, nullable=False),
    sa.Column("seen_at", UtcDateTime, nullable=False, index=True, comment="to the minute"),
    comment="logins on the pages, hashed; over after a while",
)
