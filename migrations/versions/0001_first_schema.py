"""First schema: runs, canaries, observations, findings, sightings."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
UTC_DATE = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", sa.String(length=200), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("build", sa.String(length=200), nullable=False),
        sa.Column("trigger", sa.String(length=40), nullable=False),
        sa.Column("scenarios", JSON, nullable=False),
        sa.Column("tenants", JSON, nullable=False, comment="tenant number -> name"),
        sa.Column("started_at", UTC_DATE, nullable=False),
        sa.Column("last_seen_at", UTC_DATE, nullable=False, comment="latest write of the process that runs it"),
        sa.Column("ended_at", UTC_DATE, nullable=True),
        sa.Column("outcome", sa.String(length=40), nullable=True),
        sa.Column("reasons", JSON, nullable=True),
        sa.Column("probes", sa.Integer(), nullable=True),
        sa.Column("conclusive", sa.Integer(), nullable=True),
        sa.Column("clean", sa.Integer(), nullable=True),
        sa.Column("leak_rate_upper95", sa.Double(), nullable=True),
        sa.Column("evidence_bits", sa.Double(), nullable=True),
        sa.Column("estimated_requests", sa.BigInteger(), nullable=False),
        sa.Column("estimated_prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("estimated_output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("spent_requests", sa.BigInteger(), nullable=True),
        sa.Column("spent_prompt_tokens", sa.BigInteger(), nullable=True),
        sa.Column("spent_output_tokens", sa.BigInteger(), nullable=True),
        sa.Column("largest_served", sa.BigInteger(), nullable=True),
        sa.Column("smallest_rejected", sa.BigInteger(), nullable=True),
        sa.Column("first_wrong", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_ended_at"), "runs", ["ended_at"], unique=False)
    op.create_index(op.f("ix_runs_target_started_at"), "runs", ["target", "started_at"], unique=False)

    op.create_table(
        "probes",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=200), nullable=False),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("scenario", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=40), nullable=False),
        sa.Column("tenant", sa.String(length=200), nullable=False),
        sa.Column("tenant_number", sa.Integer(), nullable=False),
        sa.Column("probe_number", sa.BigInteger(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("form", sa.String(length=40), nullable=False),
        sa.Column("planned_tokens", sa.BigInteger(), nullable=True),
        sa.Column("token_tolerance", sa.Integer(), nullable=False),
        sa.Column("filler_words", sa.BigInteger(), nullable=False),
        sa.Column("is_rewrite", sa.Boolean(), nullable=False),
        sa.Column("expectation", sa.String(length=40), nullable=False),
        sa.Column("max_output_tokens", sa.Integer(), nullable=False),
        sa.Column("remembered_at", UTC_DATE, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_probes_run_id_runs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_probes")),
        sa.UniqueConstraint(
            "run_id",
            "label",
            "tenant_number",
            "probe_number",
            name=op.f("uq_probes_run_id_label_tenant_number_probe_number"),
        ),
        comment="canaries, written before they are sent",
    )
    op.create_index(
        op.f("ix_probes_tenant_number_probe_number"), "probes", ["tenant_number", "probe_number"], unique=False
    )

    op.create_table(
        "findings",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=200), nullable=False),
        sa.Column("probe_id", ID, nullable=True),
        sa.Column("found_at", UTC_DATE, nullable=False),
        sa.Column("detector", sa.String(length=200), nullable=False),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("evidence_bits", sa.Double(), nullable=False),
        sa.Column("is_confirmed", sa.Boolean(), nullable=False),
        sa.Column("acknowledged_at", UTC_DATE, nullable=True),
        sa.Column("acknowledged_by", sa.String(length=200), nullable=True),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probes.id"], name=op.f("fk_findings_probe_id_probes"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=op.f("fk_findings_run_id_runs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_findings")),
    )
    op.create_index(op.f("ix_findings_outcome_found_at"), "findings", ["outcome", "found_at"], unique=False)
    op.create_index(op.f("ix_findings_probe_id"), "findings", ["probe_id"], unique=False)
    op.create_index(op.f("ix_findings_run_id"), "findings", ["run_id"], unique=False)

    op.create_table(
        "observations",
        sa.Column("probe_id", ID, autoincrement=False, nullable=False),
        sa.Column("sent_at", UTC_DATE, nullable=False),
        sa.Column("answer", sa.String(length=40), nullable=False),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("failure", sa.String(length=40), nullable=True),
        sa.Column("failure_detail", sa.String(length=200), nullable=False),
        sa.Column("refusal", sa.String(length=40), nullable=True),
        sa.Column("refusal_code", sa.String(length=200), nullable=True),
        sa.Column("is_refused_in_stream", sa.Boolean(), nullable=True),
        sa.Column("stated_limits", JSON, nullable=True),
        sa.Column("stated_tokens", sa.BigInteger(), nullable=True),
        sa.Column("finish_reason", sa.String(length=200), nullable=True),
        sa.Column("request_id", sa.String(length=200), nullable=True),
        sa.Column("response_id", sa.String(length=200), nullable=True),
        sa.Column("model_reported", sa.String(length=200), nullable=True),
        sa.Column("evidence_headers", JSON, nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=True),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=True),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=True),
        sa.Column("reasoning_tokens", sa.BigInteger(), nullable=True),
        sa.Column("timeline", JSON, nullable=False, comment="seconds since the request started"),
        sa.Column("is_stream", sa.Boolean(), nullable=False),
        sa.Column("is_terminated", sa.Boolean(), nullable=False),
        sa.Column("token_frames", sa.BigInteger(), nullable=False),
        sa.Column("bad_frames", sa.BigInteger(), nullable=False),
        sa.Column("bytes_received", sa.BigInteger(), nullable=False),
        sa.Column("answer_sha256", sa.String(length=64), nullable=False),
        sa.Column("answer_characters", sa.BigInteger(), nullable=False),
        sa.Column("answer_words", sa.BigInteger(), nullable=False),
        sa.Column("novel_words", sa.BigInteger(), nullable=False),
        sa.Column("longest_novel_run", sa.BigInteger(), nullable=False),
        sa.Column("is_refusal_like", sa.Boolean(), nullable=False),
        sa.Column("needles_asked", JSON, nullable=False),
        sa.Column("needles_found", JSON, nullable=False),
        sa.Column("own_windows", sa.Integer(), nullable=False),
        sa.Column("foreign_windows", sa.Integer(), nullable=False),
        sa.Column("fragments", JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probes.id"], name=op.f("fk_observations_probe_id_probes"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("probe_id", name=op.f("pk_observations")),
        comment="what came back: hash and counts of the text, never the text",
    )
    op.create_table(
        "sightings",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("finding_id", ID, nullable=False),
        sa.Column("tier", sa.String(length=40), nullable=False),
        sa.Column("tenant_number", sa.Integer(), nullable=False),
        sa.Column("probe_number", sa.BigInteger(), nullable=False),
        sa.Column("is_live", sa.Boolean(), nullable=False),
        sa.Column("windows", sa.Integer(), nullable=False),
        sa.Column("first_block", sa.Integer(), nullable=True),
        sa.Column("last_block", sa.Integer(), nullable=True),
        sa.Column("evidence_bits", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["finding_id"], ["findings.id"], name=op.f("fk_sightings_finding_id_findings"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sightings")),
        comment="our own canaries, as decoded from answers",
    )
    op.create_index(op.f("ix_sightings_finding_id"), "sightings", ["finding_id"], unique=False)
    op.create_index(
        op.f("ix_sightings_tenant_number_probe_number"), "sightings", ["tenant_number", "probe_number"], unique=False
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_sightings_tenant_number_probe_number"), table_name="sightings")
    op.drop_index(op.f("ix_sightings_finding_id"), table_name="sightings")

    op.drop_table("sightings")
    op.drop_table("observations")
    op.drop_index(op.f("ix_findings_run_id"), table_name="findings")
    op.drop_index(op.f("ix_findings_probe_id"), table_name="findings")
    op.drop_index(op.f("ix_findings_outcome_found_at"), table_name="findings")

    op.drop_table("findings")
    op.drop_index(op.f("ix_probes_tenant_number_probe_number"), table_name="probes")

    op.drop_table("probes")
    op.drop_index(op.f("ix_runs_target_started_at"), table_name="runs")
    op.drop_index(op.f("ix_runs_ended_at"), table_name="runs")

    op.drop_table("runs")
