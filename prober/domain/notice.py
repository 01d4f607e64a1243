"""What people are told, and who of them. Ids, hashes, counts and codes only: a notice leaves the house."""

import dataclasses
import datetime as dt

from prober.domain.finding import Reason
from prober.domain.issue import Issue, IssueChange
from prober.domain.outcome import Outcome


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Donor:
    """Whose text came out: one of our own canaries, decoded."""

    canary: str
    tenant: str
    """Name, or `tenant <number>` where this database never sent the canary."""
    run_id: str = ""
    """Run that sent it; empty where this database does not know."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class IssueNotice:
    """An issue changed. `issue` is as it stood right after the change, without message and note."""

    event_id: str
    """Unique; a receiver that is told twice recognises it."""
    at: dt.datetime
    change: IssueChange
    issue: Issue
    donors: tuple[Donor, ...] = ()

    @property
    def subject(self) -> str:
        """What must be told in order."""
        return self.issue.fingerprint


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VerdictNotice:
    """A rollout's run has its verdict."""

    event_id: str
    at: dt.datetime
    run_id: str
    target: str
    build: str
    outcome: Outcome
    reasons: tuple[Reason, ...]

    @property
    def subject(self) -> str:
        """What must be told in order."""
        return self.run_id


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrialNotice:
    """Somebody tries out whether a receiver can be reached: no issue, no run."""

    event_id: str
    at: dt.datetime

    @property
    def subject(self) -> str:
        """What must be told in order."""
        return self.event_id


Notice = IssueNotice | VerdictNotice | TrialNotice


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Which notices one receiver gets."""

    receiver: str
    min_outcome: Outcome = Outcome.SUSPECT
    """Least outcome of issues it is told about."""
    targets: frozenset[str] = frozenset()
    """Empty: all of them."""
    takes_verdicts: bool = True
    """Verdicts of rollouts, whatever their outcome."""
    reasons: frozenset[Reason] = frozenset()
    """Of issues; empty: all of them."""

    def takes_issue(self, issue: Issue) -> bool:
        """Tell whether changes of this issue go there."""
        is_wanted = not self.reasons or issue.reason in self.reasons
        return is_wanted and issue.outcome.rank >= self.min_outcome.rank and self._takes_target(issue.target)

    def takes_verdict(self, target: str) -> bool:
        """Tell whether rollouts of this target go there."""
        return self.takes_verdicts and self._takes_target(target)

    def _takes_target(self, target: str) -> bool:
        return not self.targets or target in self.targets
