"""Runs, probes, what came back, what was concluded: ids, hashes, counts, our own words; answer text has no column."""

import sqlalchemy as sa

from prober.domain.answer import Answer
from prober.domain.campaign import Trigger
from prober.domain.finding import Reason
from prober.domain.observation import FailureKind, RefusalReason
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Role
from prober.domain.reading import Tier
from prober.domain.target import TextForm
from prober.store.schema.columns import JSON, NAME_LENGTH, Code, UtcDateTime, id_column, metadata, refers

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("run_id", sa.String(NAME_LENGTH), primary_key=True),
    sa.Column("target", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("model", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("build", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("trigger", Code(Trigger), nullable=False),
    sa.Column("scenarios", JSON, nullable=False),
    sa.Column("tenants", JSON, nullable=False, comment="tenant number -> name"),
    sa.Column("started_at", UtcDateTime, nullable=False),
    sa.Column("last_seen_at", UtcDateTime, nullable=False, comment="latest write of the process that runs it"),
    sa.Column("ended_at", UtcDateTime),
    sa.Column("outcome", Code(Outcome)),
    sa.Column("reasons", JSON),
    sa.Column("probes", sa.Integer),
    sa.Column("conclusive", sa.Integer),
    sa.Column("clean", sa.Integer),
    sa.Column("leak_rate_upper95", sa.Double),
    sa.Column("evidence_bits", sa.Double),
    sa.Column("estimated_requests", sa.BigInteger, nullable=False),
    sa.Column("estimated_prompt_tokens", sa.BigInteger, nullable=False),
    sa.Column("estimated_output_tokens", sa.BigInteger, nullable=False),
    sa.Column("spent_requests", sa.BigInteger),
    sa.Column("spent_prompt_tokens", sa.BigInteger),
    sa.Column("spent_output_tokens", sa.BigInteger),
    sa.Column("largest_served", sa.BigInteger),
    sa.Column("smallest_rejected", sa.BigInteger),
    sa.Column("first_wrong", sa.BigInteger),
    sa.Column("terms", JSON, comment="target and caps, as the run had them"),
    sa.Column("facts", JSON, comment="of the rollout, in the caller's words"),
    sa.Index(None, "target", "started_at"),
    sa.Index(None, "ended_at"),
)

probes = sa.Table(
    "probes",
    metadata,
    id_column(),
    sa.Column("run_id", sa.String(NAME_LENGTH), sa.ForeignKey("runs.run_id", ondelete="CASCADE"), nullable=False),
    sa.Column("label", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("scenario", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("role", Code(Role), nullable=False),
    sa.Column("tenant", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("tenant_number", sa.Integer, nullable=False),
    sa.Column("probe_number", sa.BigInteger, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("form", Code(TextForm), nullable=False),
    sa.Column("planned_tokens", sa.BigInteger),
    sa.Column("token_tolerance", sa.Integer, nullable=False),
    sa.Column("filler_words", sa.BigInteger, nullable=False),
    sa.Column("is_rewrite", sa.Boolean, nullable=False),
    sa.Column("expectation", Code(Expectation), nullable=False),
    sa.Column("max_output_tokens", sa.Integer, nullable=False),
    sa.Column("remembered_at", UtcDateTime, nullable=False),
    sa.UniqueConstraint("run_id", "label", "tenant_number", "probe_number"),
    sa.Index(None, "tenant_number", "probe_number"),
    comment="canaries, written before they are sent",
)

observations = sa.Table(
    "observations",
    metadata,
    refers("probe_id", "probes.id", primary_key=True),
    sa.Column("sent_at", UtcDateTime, nullable=False),
    sa.Column("answer", Code(Answer), nullable=False),
    sa.Column("outcome", Code(Outcome), nullable=False),
    sa.Column("status", sa.Integer),
    sa.Column("failure", Code(FailureKind)),
    sa.Column("failure_detail", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("refusal", Code(RefusalReason)),
    sa.Column("refusal_code", sa.String(NAME_LENGTH)),
    sa.Column("is_refused_in_stream", sa.Boolean),
    sa.Column("stated_limits", JSON),
    sa.Column("stated_tokens", sa.BigInteger),
    sa.Column("finish_reason", sa.String(NAME_LENGTH)),
    sa.Column("request_id", sa.String(NAME_LENGTH)),
    sa.Column("response_id", sa.String(NAME_LENGTH)),
    sa.Column("model_reported", sa.String(NAME_LENGTH)),
    sa.Column("evidence_headers", JSON, nullable=False),
    sa.Column("prompt_tokens", sa.BigInteger),
    sa.Column("completion_tokens", sa.BigInteger),
    sa.Column("cached_tokens", sa.BigInteger),
    sa.Column("reasoning_tokens", sa.BigInteger),
    sa.Column("timeline", JSON, nullable=False, comment="seconds since the request started"),
    sa.Column("is_stream", sa.Boolean, nullable=False),
    sa.Column("is_terminated", sa.Boolean, nullable=False),
    sa.Column("token_frames", sa.BigInteger, nullable=False),
    sa.Column("bad_frames", sa.BigInteger, nullable=False),
    sa.Column("bytes_received", sa.BigInteger, nullable=False),
    sa.Column("answer_sha256", sa.String(64), nullable=False),
    sa.Column("answer_characters", sa.BigInteger, nullable=False),
    sa.Column("answer_words", sa.BigInteger, nullable=False),
    sa.Column("novel_words", sa.BigInteger, nullable=False),
    sa.Column("longest_novel_run", sa.BigInteger, nullable=False),
    sa.Column("is_refusal_like", sa.Boolean, nullable=False),
    sa.Column("needles_asked", JSON, nullable=False),
    sa.Column("needles_found", JSON, nullable=False),
    sa.Column("own_windows", sa.Integer, nullable=False),
    sa.Column("foreign_windows", sa.Integer, nullable=False),
    sa.Column("fragments", JSON, nullable=False),
    sa.Column("system_fingerprint", sa.String(NAME_LENGTH)),
    comment="what came back: hash and counts of the text, never the text",
)

findings = sa.Table(
    "findings",
    metadata,
    id_column(),
    sa.Column(
        "run_id", sa.String(NAME_LENGTH), sa.ForeignKey("runs.run_id", ondelete="CASCADE"), nullable=False, index=True
    ),
    refers("probe_id", "probes.id", nullable=True),
    sa.Column("found_at", UtcDateTime, nullable=False),
    sa.Column("detector", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("outcome", Code(Outcome), nullable=False),
    sa.Column("reason", Code(Reason), nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("evidence_bits", sa.Double, nullable=False),
    sa.Column("is_confirmed", sa.Boolean, nullable=False),
    sa.Column("kinds", JSON, comment="codes of suspected fault kinds, the likeliest first"),
    sa.Column("acknowledged_at", UtcDateTime),
    sa.Column("acknowledged_by", sa.String(NAME_LENGTH)),
    sa.Index(None, "outcome", "found_at"),
)

reference_answers = sa.Table(
    "reference_answers",
    metadata,
    refers("probe_id", "probes.id", primary_key=True),
    sa.Column("mark", JSON, nullable=False),
    comment="answers that a later run compares with: hashes and figures, no text",
)

sightings = sa.Table(
    "sightings",
    metadata,
    id_column(),
    refers("finding_id", "findings.id"),
    sa.Column("tier", Code(Tier), nullable=False),
    sa.Column("tenant_number", sa.Integer, nullable=False),
    sa.Column("probe_number", sa.BigInteger, nullable=False),
    sa.Column("is_live", sa.Boolean, nullable=False),
    sa.Column("windows", sa.Integer, nullable=False),
    sa.Column("first_block", sa.Integer),
    sa.Column("last_block", sa.Integer),
    sa.Column("evidence_bits", sa.Double, nullable=False),
    sa.Index(None, "tenant_number", "probe_number"),
    comment="our own canaries, as decoded from answers",
)
