"""Findings of one kind about one target, folded over runs: what people acknowledge, resolve and are told about."""

import dataclasses
import datetime as dt
import enum

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome


class IssueState(enum.Enum):
    """Where an issue stands."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    """Somebody has it in hand; it still counts."""
    RESOLVED = "resolved"
    """By a person, or by a clean run of the scenarios that found it; the next finding opens it again."""
    SUPPRESSED = "suppressed"
    """Accepted until a date; findings are stored and counted, and nobody is told, unless it becomes worse."""

    @property
    def counts(self) -> bool:
        """Nobody has settled it."""
        return self in {IssueState.OPEN, IssueState.ACKNOWLEDGED}


class IssueChange(enum.Enum):
    """What happened to an issue: the entries of its history."""

    OPENED = "opened"
    WORSENED = "worsened"
    """A violation where there was a suspicion; lifts an acknowledgement and a suppression."""
    REOPENED = "reopened"
    """Found again after it was settled, or after its suppression ended."""
    ACKNOWLEDGED = "acknowledged"
    SUPPRESSED = "suppressed"
    RESOLVED = "resolved"
    """By a person."""
    CLOSED = "closed"
    """By a run in which the scenarios that found it were clean throughout."""
    NOTED = "noted"
    """Somebody wrote something; nobody is told."""

    @property
    def is_end(self) -> bool:
        """Nothing is left to be done about it for now."""
        return self in {IssueChange.SUPPRESSED, IssueChange.RESOLVED, IssueChange.CLOSED}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One problem of one target. `fingerprint` tells problems apart: target, detector and reason."""

    issue_id: int
    fingerprint: str
    target: str
    detector: str
    reason: Reason
    outcome: Outcome
    """The worst seen since it was opened."""
    state: IssueState
    first_seen: dt.datetime
    last_seen: dt.datetime
    count: int
    """Findings since the issue was first opened."""
    opened_at: dt.datetime | None = None
    """When it was opened, or opened again last; None: `first_seen`."""
    reopened: int = 0
    message: str = ""
    """Of the latest finding."""
    kinds: tuple[str, ...] = ()
    """Codes of suspected fault kinds, the likeliest first."""
    scenarios: tuple[str, ...] = ()
    """That found it since it was opened, in alphabetical order."""
    evidence_bits: float = 0.0
    """The most of any finding since it was opened."""
    last_run_id: str = ""
    last_finding_id: int = 0
    changed_by: str = ""
    """Who acknowledged, resolved or suppressed it last."""
    note: str = ""
    suppressed_until: dt.datetime | None = None

    def at(self, now: dt.datetime) -> "Issue":
        """See the issue as it stands at a time: a suppression that is over leaves it open."""
        is_over = self.suppressed_until is not None and self.suppressed_until <= now
        if self.state is not IssueState.SUPPRESSED or not is_over:
            return self
        return dataclasses.replace(self, state=IssueState.OPEN, suppressed_until=None)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class IssueEntry:
    """One line of an issue's history."""

    at: dt.datetime
    change: IssueChange
    by: str
    """Who did it; empty: the prober."""
    outcome: Outcome
    """The issue's, after the change."""
    note: str = ""
    run_id: str = ""
    """The run that made the change; empty where a person did."""
    until: dt.datetime | None = None
    """Of a suppression."""
