"""May a target that has only answered errors be probed now?"""

import dataclasses
import datetime as dt
import enum


class BreakerState(enum.Enum):
    """Of the circuit breaker of one target."""

    CLOSED = "closed"
    """It answers, or nothing is known: every run goes through."""
    OPEN = "open"
    """It answered only errors: scheduled runs wait."""
    HALF_OPEN = "half_open"
    """The wait is over: a scheduled run goes through, and ends at its first cheap probe should that be an error too."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunHealth:
    """Whether a target answered anything in one ended run."""

    ended_at: dt.datetime
    """Aware, UTC."""
    has_answered: bool
    """Some probe brought back something else than an error of the target."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Whether a run may start, and in which state its target is."""

    is_admitted: bool
    state: BreakerState
    note: str = ""
    """Why not, in our words; empty for an admitted run."""
    retry_at: dt.datetime | None = None
    """When a scheduled run may start again; None unless refused."""
