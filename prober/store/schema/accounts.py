"""API tokens: who they were given to and what they permit. Secrets are there by hash."""

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
