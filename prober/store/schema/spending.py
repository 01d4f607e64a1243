"""What was spent, by target and tenant and hour: kept apart from runs, whose rows may be pruned."""

import sqlalchemy as sa

from prober.store.schema.columns import NAME_LENGTH, UtcDateTime, metadata

spending = sa.Table(
    "spending",
    metadata,
    sa.Column("hour", UtcDateTime, primary_key=True, comment="its beginning"),
    sa.Column("target", sa.String(NAME_LENGTH), primary_key=True),
    sa.Column("tenant", sa.String(NAME_LENGTH), primary_key=True),
    sa.Column("requests", sa.BigInteger, nullable=False),
    sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("micros", sa.BigInteger, nullable=False, comment="money, in millionths of the currency's unit"),
    comment="spent, or reserved by calls that are not settled",
)
