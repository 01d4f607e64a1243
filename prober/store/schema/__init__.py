"""All tables. They hold ids, hashes, counts and our own words; answer text has no column outside the vault's."""

from prober.store.schema import accounts, issues, runs, spending, vault, work
from prober.store.schema.columns import metadata

__all__ = ["accounts", "issues", "metadata", "runs", "spending", "vault", "work"]
