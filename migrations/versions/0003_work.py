"""Slots, runs waiting and running, and who holds them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DATE = sa.DateTime(timezone=True)
IS_RUNNING = sa.text("state = 'running'")


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("job_id", sa.String(200), nullable=False),
        sa.Column("target", sa.String(200), nullable=False),
        sa.Column("trigger", sa.String(40), nullable=False),
        sa.Column("scenarios", JSON, nullable=False),
        sa.Column("max_run_tokens", sa.BigInteger(), nullable=True),
        sa.Column("requested_by", sa.String(200), nullable=False),
        sa.Column("slot", sa.String(200), nullable=True, comment="schedule/target/time"),
        sa.Column("idempotency_key", sa.String(200), nullable=True),
        sa.Column("facts", JSON, nullable=False, comment="of the rollout, in the caller's words"),
        sa.Column("state", sa.String(40), nullable=False),
        sa.Column("queued_at", DATE, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False, comment="grows with each claim"),
        sa.Column("holder", sa.String(200), nullable=True),
        sa.Column("lease_until", DATE, nullable=True),
        sa.Column(
            "lease_seconds",
            sa.Double(),
            nullable=True,
            comment="length of the lease: how far ahead it may honestly lie",
        ),
        sa.Column("run_id", sa.String(200), nullable=True),
        sa.Column("ended_at", DATE, nullable=True),
        sa.Column("outcome", sa.String(40), nullable=True),
        sa.Column("note", sa.String(200), nullable=False),
        sa.Column("is_cancel_requested", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name="fk_jobs_run_id_runs", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sa.UniqueConstraint("job_id", name="uq_jobs_job_id"),
        sa.UniqueConstraint("slot", name="uq_jobs_slot"),
        sa.UniqueConstraint("requested_by", "idempotency_key", name="uq_jobs_requested_by_idempotency_key"),
    )
    op.create_index("ix_jobs_run_id", "jobs", ["run_id"])
    op.create_index("ix_jobs_state_target", "jobs", ["state", "target"])
    op.create_index(
        "ix_jobs_running_target", "jobs", ["target"], unique=True, sqlite_where=IS_RUNNING, postgresql_where=IS_RUNNING
    )
    op.create_table(
        "job_runs",
        sa.Column("run_id", sa.String(200), nullable=False),
        sa.Column("job_id", ID, nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name="fk_job_runs_run_id_runs", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_job_runs_job_id_jobs", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name="pk_job_runs"),
        comment="runs under a job: these live and end by its lease",
    )
    op.create_index("ix_job_runs_job_id", "job_runs", ["job_id"])
    op.create_table(
        "schedule_cursors",
        sa.Column("schedule", sa.String(200), nullable=False),
        sa.Column("target", sa.String(200), nullable=False),
        sa.Column("definition", sa.String(64), nullable=False, comment="SHA-256 of what gives the slots their times"),
        sa.Column("reached", DATE, nullable=False, comment="latest slot that was queued or missed; never goes back"),
        sa.PrimaryKeyConstraint("schedule", "target", name="pk_schedule_cursors"),
    )
    op.create_table(
        "switches",
        sa.Column("name", sa.String(200), nullable=False, comment="stop or schedule/<name>; here: thrown"),
        sa.Column("thrown_at", DATE, nullable=False),
        sa.Column("thrown_by", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_switches"),
    )


def downgrade() -> None:
    op.drop_table("switches")
    op.drop_table("schedule_cursors")
    op.drop_table("job_runs")
    op.drop_table("jobs")
