"""Foreign text, encrypted, the log of who read it, and how far back each kind of row was pruned."""

import enum

import sqlalchemy as sa

from prober.domain.excerpt import Channel
from prober.domain.vault_log import VaultAct
from prober.store.schema.columns import ID, NAME_LENGTH, Code, UtcDateTime, id_column, metadata, refers

REASON_LENGTH = 1_000
"""What a person may say about why a text was read."""


class Pruned(enum.Enum):
    """Kinds of rows that retention deletes."""

    OBSERVATIONS = "observations"
    """What came back, with its CLEAN findings."""
    RUNS = "runs"
    """Runs, their canaries and INCONCLUSIVE findings."""
    FINDINGS = "findings"
    """SUSPECT and VIOLATION findings."""
    VAULT = "vault"


vault_excerpts = sa.Table(
    "vault_excerpts",
    metadata,
    id_column(),
    refers("finding_id", "findings.id"),
    sa.Column("run_id", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False, comment="counts a finding's excerpts from 0"),
    sa.Column("channel", Code(Channel), nullable=False),
    sa.Column("start", sa.BigInteger, nullable=False, comment="offset in its channel"),
    sa.Column("characters", sa.Integer, nullable=False),
    sa.Column("sha256", sa.String(64), comment="of the text; only where there was no key to encrypt it with"),
    sa.Column("key_id", sa.String(40)),
    sa.Column("nonce", sa.LargeBinary),
    sa.Column("ciphertext", sa.LargeBinary, comment="AES-256-GCM, tag included"),
    sa.Column("kept_at", UtcDateTime, nullable=False),
    sa.UniqueConstraint("finding_id", "ordinal"),
    sa.Index(None, "kept_at"),
    sa.Index(None, "key_id"),
    comment="foreign text, encrypted: the only place that holds any",
)

vault_log = sa.Table(
    "vault_log",
    metadata,
    id_column(),
    sa.Column("at", UtcDateTime, nullable=False),
    sa.Column("act", Code(VaultAct), nullable=False),
    sa.Column("who", sa.String(NAME_LENGTH), nullable=False),
    sa.Column("why", sa.String(REASON_LENGTH), nullable=False),
    sa.Column("finding_id", ID, comment="no key: the log outlives findings"),
    sa.Column("excerpts", sa.BigInteger, nullable=False, comment="how many it was about"),
    comment="who did what to the vault; only ever added to",
)

pruned = sa.Table(
    "pruned",
    metadata,
    sa.Column("kind", Code(Pruned), primary_key=True),
    sa.Column("before", UtcDateTime, nullable=False, comment="rows older than this may be gone"),
    sa.Column("rows", sa.BigInteger, nullable=False, comment="deleted so far"),
    sa.Column("at", UtcDateTime, nullable=False, comment="latest deletion"),
)
