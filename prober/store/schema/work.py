"""Slots, runs waiting and running, and who holds them."""

import sqlalchemy as sa

from prober.domain.campaign import Trigger
from prober.domain.job import JobState
from prober.domain.outcome import Outcome
from prober.store.schema.columns import JSON, NAME_LENGTH, Code, UtcDateTime, id_column, metadata, refers

IS_RUNNING = sa.text(f"state = '{JobState.RUNNING.value}'")

jobs = sa.Table(
    "jobs",
    metadata,
    id_column(),
    sa.Column("job_id", sa.String(NAME_LENGTH), nullable=False, unique=True),
    sa.Column("target", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("trigger", Code(Trigger), nullable=False),
    sa.Column("scenarios", JSON, nullable=False),
    sa.Column("max_run_tokens", sa.BigInteger),
    sa.Column("requested_by", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("slot", sa.String(NAME_LENGTH), unique=True, comment="schedule/target/time"),
    sa.Column("idempotency_key", sa.String(NAME_LENGTH)),
    sa.Column("facts", JSON, nullable=False, comment="of the rollout, in the caller's words"),
    sa.Column("state", Code(JobState), nullable=False),
    sa.Column("queued_at", UtcDateTime, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("fence", sa.BigInteger, nullable=False, comment="grows with each claim"),
    sa.Column("holder", sa.String(NAME_LENGTH)),
    sa.Column("lease_until", UtcDateTime),
    sa.Column("lease_seconds", sa.Double, comment="length of the lease: how far ahead it may honestly lie"),
    sa.Column("run_id", sa.String(NAME_LENGTH), sa.ForeignKey("runs.run_id", ondelete="SET NULL"), index=True),
    sa.Column("ended_at", UtcDateTime),
    sa.Column("outcome", Code(Outcome)),
    sa.Column("note", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("is_cancel_requested", sa.Boolean, nullable=False),
    sa.UniqueConstraint("requested_by", "idempotency_key"),
    sa.Index(None, "state", "target"),
    # One run per target at a time, whatever the number of replicas: what is shared is not to be probed twice at once.
    sa.Index("ix_jobs_running_target", "target", unique=True, sqlite_where=IS_RUNNING, postgresql_where=IS_RUNNING),
)

job_runs = sa.Table(
    "job_runs",
    metadata,
    sa.Column("run_id", sa.String(NAME_LENGTH), sa.ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    refers("job_id", "jobs.id"),
    sa.Column("fence", sa.BigInteger, nullable=False),
    comment="runs under a job: these live and end by its lease",
)

schedule_cursors = sa.Table(
    "schedule_cursors",
    metadata,
    sa.Column("schedule", sa.String(NAME_LENGTH), primary_key=True),
    sa.Column("target", sa.String(NAME_LENGTH), primary_key=True),
    sa.Column("definition", sa.String(64), nullable=False, comment="SHA-256 of what gives the slots their times"),
    sa.Column("reached", UtcDateTime, nullable=False, comment="latest slot that was queued or missed; never goes back"),
)

switches = sa.Table(
    "switches",
    metadata,
    sa.Column("name", sa.String(NAME_LENGTH), primary_key=True, comment="stop or schedule/<name>; here: thrown"),
    sa.Column("thrown_at", UtcDateTime, nullable=False),
    sa.Column("thrown_by", sa.String(NAME_LENGTH), nullable=False),
)
