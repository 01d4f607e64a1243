"""A synthetic account."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A synthetic account; its credential stays in `config` and `endpoint` and is never part of this value."""

    name: str
    number: int
    """0..2047, carried in the filler code; unique among all instances that share a key."""
    account: str = ""
    """Digest of the account that configuration names for it, in its address or in a header; empty: it names none."""
