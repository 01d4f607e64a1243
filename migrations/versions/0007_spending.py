"""What was spent, by target and tenant and hour."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "spending",
        sa.Column("hour", sa.DateTime(timezone=True), nullable=False, comment="its beginning"),
        sa.Column("target", sa.String(200), nullable=False),
        sa.Column("tenant", sa.String(200), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False, comment="money, in millionths of the currency's unit"),
        sa.PrimaryKeyConstraint("hour", "target", "tenant", name="pk_spending"),
        comment="spent, or reserved by calls that are not settled",
    )


def downgrade() -> None:
    op.drop_table("spending")
