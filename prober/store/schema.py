"""Tables. They hold ids, hashes, counts and our own words; answer text has no column."""

import datetime as dt
import enum

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from prober.domain.campaign import Trigger
from prober.domain.errors import LedgerError
from prober.domain.evidence import Answer
from prober.domain.finding import Reason
from prober.domain.observation import FailureKind, RefusalReason
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Role
from prober.domain.reading import Tier
from prober.domain.target import TextForm

NAME_LENGTH = 200
"""Names, labels, ids: ours and (bounded before they are stored) the remote's."""

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class UtcDateTime(sa.types.TypeDecorator[dt.datetime]):
    """An aware UTC date. SQLite forgets time zones, so they are taken off and put back here."""

    impl = sa.DateTime(timezone=True)  # type: ignore[mutable-override]  # SQLAlchemy's documented way
    cache_ok = True  # type: ignore[mutable-override]  # likewise

    def process_bind_param(self, value: dt.datetime | None, dialect: sa.Dialect) -> dt.datetime | None:
        """Refuse naive dates: nobody could tell what they mean."""
        del dialect
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a date without a time zone cannot be stored")
        return value.astimezone(dt.UTC)

    def process_result_value(self, value: dt.datetime | None, dialect: sa.Dialect) -> dt.datetime | None:
        """Give every date its zone back."""
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


_JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""SQLite counts up only a column of type INTEGER."""


CODE_LENGTH = 40


class Code(sa.types.TypeDecorator[enum.Enum]):
    """An enum by its value, as plain text: a new member needs no migration."""

    impl = sa.String(CODE_LENGTH)  # type: ignore[mutable-override]  # SQLAlchemy's documented way
    cache_ok = True  # type: ignore[mutable-override]  # likewise

    def __init__(self, kind: type[enum.Enum]) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: enum.Enum | None, dialect: sa.Dialect) -> str | None:
        """Store the value."""
        del dialect
        return None if value is None else str(value.value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> enum.Enum | None:
        """Give the member back; a value that only a newer version knows is a LedgerError."""
        del dialect
        try:
            return None if value is None else self.kind(value)
        except ValueError:
            raise LedgerError("The ledger holds rows of a newer version of the prober; upgrade this one.") from None


def _id_column() -> sa.Column[int]:
    return sa.Column("id", _ID, primary_key=True, autoincrement=True)


def _refers(name: str, to: str, *, nullable: bool = False, primary_key: bool = False) -> sa.Column[int]:
    key = sa.ForeignKey(to, ondelete="CASCADE")
    if primary_key:
        return sa.Column(name, _ID, key, primary_key=True, autoincrement=False)
    return sa.Column(name, _ID, key, nullable=nullable, index=True)


runs = sa.Table(
    "runs",
    metadata,
    sa.Column("run_id", sa.String(NAME_LENGTH), primary_key=True),
    sa.Column("target", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("model", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("build", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("trigger", Code(Trigger), nullable=False),
    sa.Column("scenarios", _JSON, nullable=False),
    sa.Column("tenants", _JSON, nullable=False, comment="tenant number -> name"),
    sa.Column("started_at", UtcDateTime, nullable=False),
    sa.Column("last_seen_at", UtcDateTime, nullable=False, comment="latest write of the process that runs it"),
    sa.Column("ended_at", UtcDateTime),
    sa.Column("outcome", Code(Outcome)),
    sa.Column("reasons", _JSON),
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
    sa.Index(None, "target", "started_at"),
    sa.Index(None, "ended_at"),
)

probes = sa.Table(
    "probes",
    metadata,
    _id_column(),
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
    _refers("probe_id", "probes.id", primary_key=True),
    sa.Column("sent_at", UtcDateTime, nullable=False),
    sa.Column("answer", Code(Answer), nullable=False),
    sa.Column("outcome", Code(Outcome), nullable=False),
    sa.Column("status", sa.Integer),
    sa.Column("failure", Code(FailureKind)),
    sa.Column("failure_detail", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("refusal", Code(RefusalReason)),
    sa.Column("refusal_code", sa.String(NAME_LENGTH)),
    sa.Column("is_refused_in_stream", sa.Boolean),
    sa.Column("stated_limits", _JSON),
    sa.Column("stated_tokens", sa.BigInteger),
    sa.Column("finish_reason", sa.String(NAME_LENGTH)),
    sa.Column("request_id", sa.String(NAME_LENGTH)),
    sa.Column("response_id", sa.String(NAME_LENGTH)),
    sa.Column("model_reported", sa.String(NAME_LENGTH)),
    sa.Column("evidence_headers", _JSON, nullable=False),
    sa.Column("prompt_tokens", sa.BigInteger),
    sa.Column("completion_tokens", sa.BigInteger),
    sa.Column("cached_tokens", sa.BigInteger),
    sa.Column("reasoning_tokens", sa.BigInteger),
    sa.Column("timeline", _JSON, nullable=False, comment="seconds since the request started"),
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
    sa.Column("needles_asked", _JSON, nullable=False),
    sa.Column("needles_found", _JSON, nullable=False),
    sa.Column("own_windows", sa.Integer, nullable=False),
    sa.Column("foreign_windows", sa.Integer, nullable=False),
    sa.Column("fragments", _JSON, nullable=False),
    comment="what came back: hash and counts of the text, never the text",
)

findings = sa.Table(
    "findings",
    metadata,
    _id_column(),
    sa.Column(
        "run_id", sa.String(NAME_LENGTH), sa.ForeignKey("runs.run_id", ondelete="CASCADE"), nullable=False, index=True
    ),
    _refers("probe_id", "probes.id", nullable=True),
    sa.Column("found_at", UtcDateTime, nullable=False),
    sa.Column("detector", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("outcome", Code(Outcome), nullable=False),
    sa.Column("reason", Code(Reason), nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("evidence_bits", sa.Double, nullable=False),
    sa.Column("is_confirmed", sa.Boolean, nullable=False),
    sa.Column("acknowledged_at", UtcDateTime),
    sa.Column("acknowledged_by", sa.String(NAME_LENGTH)),
    sa.Index(None, "outcome", "found_at"),
)

sightings = sa.Table(
    "sightings",
    metadata,
    _id_column(),
    _refers("finding_id", "findings.id"),
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
