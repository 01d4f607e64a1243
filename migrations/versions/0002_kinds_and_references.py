"""Suspected kinds of findings; reference answers that outlive their run."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column(
        "findings",
        sa.Column("kinds", JSON, nullable=True, comment="codes of suspected fault kinds, the likeliest first"),
    )
    op.create_table(
        "reference_answers",
        sa.Column("probe_id", ID, autoincrement=False, nullable=False),
        sa.Column("mark", JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probes.id"], name="fk_reference_answers_probe_id_probes", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("probe_id", name="pk_reference_answers"),
        comment="answers that a later run compares with: hashes and figures, no text",
    )


def downgrade() -> None:
    op.drop_table("reference_answers")
    op.drop_column("findings", "kinds")
