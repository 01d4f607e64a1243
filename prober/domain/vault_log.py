"""Who did what to the evidence vault."""

import dataclasses
import datetime as dt
import enum


class VaultAct(enum.Enum):
    """What is logged."""

    READ = "read"
    PURGED = "purged"
    ROTATED = "rotated"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VaultEntry:
    """One line of the vault's log."""

    at: dt.datetime
    act: VaultAct
    who: str
    why: str
    finding_id: int | None
    """None: about all findings."""
    excerpts: int
    """How many it was about; for a read, how many there were to show."""
