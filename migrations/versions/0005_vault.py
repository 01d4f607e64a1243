"""Foreign text, encrypted, and the log of who read it."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
UTC_DATE = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "vault_excerpts",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("finding_id", ID, nullable=False),
        sa.Column("run_id", sa.String(length=200), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False, comment="counts a finding's excerpts from 0"),
        sa.Column("channel", sa.String(length=40), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False, comment="offset in its channel"),
        sa.Column("characters", sa.Integer(), nullable=False),
        sa.Column(
            "sha256",
            sa.String(length=64),
            nullable=True,
            comment="of the text; only where there was no key to encrypt it with",
        ),
        sa.Column("key_id", sa.String(length=40), nullable=True),
        sa.Column("nonce", sa.LargeBinary(), nullable=True),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=True, comment="AES-256-GCM, tag included"),
        sa.Column("kept_at", UTC_DATE, nullable=False),
        sa.ForeignKeyConstraint(
            ["finding_id"], ["findings.id"], name=op.f("fk_vault_excerpts_finding_id_findings"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vault_excerpts")),
        sa.UniqueConstraint("finding_id", "ordinal", name=op.f("uq_vault_excerpts_finding_id_ordinal")),
        comment="foreign text, encrypted: the only place that holds any",
    )
    op.create_index(op.f("ix_vault_excerpts_finding_id"), "vault_excerpts", ["finding_id"], unique=False)
    op.create_index(op.f("ix_vault_excerpts_kept_at"), "vault_excerpts", ["kept_at"], unique=False)
    op.create_index(op.f("ix_vault_excerpts_key_id"), "vault_excerpts", ["key_id"], unique=False)
    op.create_table(
        "vault_log",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("at", UTC_DATE, nullable=False),
        sa.Column("act", sa.String(length=40), nullable=False),
        sa.Column("who", sa.String(length=200), nullable=False),
        sa.Column("why", sa.String(length=1000), nullable=False),
        sa.Column("finding_id", ID, nullable=True, comment="no key: the log outlives findings"),
        sa.Column("excerpts", sa.BigInteger(), nullable=False, comment="how many it was about"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vault_log")),
        comment="who did what to the vault; only ever added to",
    )
    op.create_table(
        "pruned",
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("before", UTC_DATE, nullable=False, comment="rows older than this may be gone"),
        sa.Column("rows", sa.BigInteger(), nullable=False, comment="deleted so far"),
        sa.Column("at", UTC_DATE, nullable=False, comment="latest deletion"),
        sa.PrimaryKeyConstraint("kind", name=op.f("pk_pruned")),
    )


def downgrade() -> None:
    op.drop_table("pruned")
    op.drop_table("vault_log")
    op.drop_index(op.f("ix_vault_excerpts_key_id"), table_name="vault_excerpts")
    op.drop_index(op.f("ix_vault_excerpts_kept_at"), table_name="vault_excerpts")
    op.drop_index(op.f("ix_vault_excerpts_finding_id"), table_name="vault_excerpts")
    op.drop_table("vault_excerpts")
