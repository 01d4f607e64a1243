"""What a report tells of a run besides its verdict: target and caps as they were, the rollout, the build's label."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("runs", sa.Column("terms", JSON, nullable=True, comment="target and caps, as the run had them"))
    op.add_column("runs", sa.Column("facts", JSON, nullable=True, comment="of the rollout, in the caller's words"))
    op.add_column("observations", sa.Column("system_fingerprint", sa.String(200), nullable=True))


def downgrade() -> None:
    op.drop_column("observations", "system_fingerprint")
    op.drop_column("runs", "facts")
    op.drop_column("runs", "terms")
