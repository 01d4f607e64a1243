"""All that the routes need of the world, as one value. `prober serve` fills it, tests hand in fakes."""

import dataclasses
import datetime as dt
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Protocol

from prober.config.serving import ApiSettings
from prober.domain.account import ApiToken
from prober.domain.campaign import Campaign
from prober.domain.finding import Reason
from prober.domain.issue import Issue, IssueEntry, IssueState
from prober.domain.job import Job, JobRequest, JobState
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.runner.ports import Clock
from prober.store.rows import StoredFinding, StoredRun, StoredTally
from prober.store.switches import Switches
from prober.store.vault_rows import StoredExcerpt


class Queue(Protocol):
    """Runs asked for. Raises LedgerError; JobConflictError for an idempotency key of another request."""

    async def enqueue(self, request: JobRequest) -> Job:
        """Queue a run; with a key or slot used before, give the job that is there."""
        ...

    async def find(self, job_id: str) -> Job | None:
        """Look one up."""
        ...

    async def listed(
        self, *, target: str | None = None, state: JobState | None = None, limit: int = 50, before: str | None = None
    ) -> Sequence[Job]:
        """List, newest first; `before` is the id of the last one of the page before."""
        ...

    async def cancel(self, job_id: str, by: str) -> Job | None:
        """End it where it waits, ask its holder where it runs; one that ended stays as it is."""
        ...


class Tokens(Protocol):
    """API tokens. Raises LedgerError."""

    async def verify(self, secret: str) -> ApiToken | None:
        """Tell whose secret this is; None for nobody's."""
        ...


class Issues(Protocol):
    """Findings folded over runs. Raises LedgerError; single ones are None where there is no issue."""

    async def listed(
        self,
        *,
        target: str | None = None,
        state: IssueState | None = None,
        outcome: Outcome | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> Sequence[Issue]:
        """List, newest first; `before` is the id of the last one of the page before."""
        ...

    async def find(self, issue_id: int) -> Issue | None:
        """Look one up."""
        ...

    async def history(self, issue_id: int) -> Sequence[IssueEntry]:
        """What happened to it, oldest first; empty where there is none."""
        ...

    async def acknowledge(self, issue_id: int, by: str, note: str = "") -> Issue | None:
        """Say that somebody has it in hand."""
        ...

    async def resolve(self, issue_id: int, by: str, note: str = "") -> Issue | None:
        """Say that it is mended; the next finding opens it again."""
        ...

    async def suppress(self, issue_id: int, by: str, until: dt.datetime, note: str) -> Issue | None:
        """Accept it until a date."""
        ...

    async def annotate(self, issue_id: int, by: str, note: str) -> Issue | None:
        """Write a note, and leave its state."""
        ...


class Lookups(Protocol):
    """What the ledger holds. Raises LedgerError."""

    async def run(self, run_id: str) -> StoredRun | None:
        """Look one run up."""
        ...

    async def findings(
        self,
        *,
        worse_than: Outcome = Outcome.CLEAN,
        run_id: str | None = None,
        target: str | None = None,
        reason: Reason | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> Sequence[StoredFinding]:
        """List, newest first, without sightings; `before` is the id of the last one of the page before."""
        ...

    async def finding(self, finding_id: int) -> StoredFinding | None:
        """Look one up, with its sightings and who sent them."""
        ...

    async def tallies(self, target: str) -> Sequence[StoredTally]:
        """Count a target's judged probes by scenario, build and outcome."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A configured schedule and what is next."""

    name: str
    targets: tuple[str, ...]
    when: str
    """As configured: the cron line or the interval."""
    next_at: dt.datetime | None
    """None while it is paused, or where no date is left."""
    is_paused: bool = False
    paused_by: str = ""


class Reports(Protocol):
    """Reports of runs that have ended. Raises LedgerError."""

    async def report(self, run_id: str) -> RunReport | None:
        """Read one; None: it is not known, or has not ended."""
        ...


class Schedules(Protocol):
    """The running schedules. Raises LedgerError; None where there is no schedule of that name."""

    async def listed(self) -> Sequence[Schedule]:
        """List, in the configuration's order."""
        ...

    async def pause(self, name: str, by: str) -> Schedule | None:
        """Leave its slots out until it is resumed, on every replica."""
        ...

    async def resume(self, name: str, by: str) -> Schedule | None:
        """Go on with the next slot."""
        ...


class StopBoard(Protocol):
    """The switches that all replicas obey. Raises LedgerError."""

    async def stop(self, by: str) -> None:
        """End all probing; a stop that is thrown already keeps its date and name."""
        ...

    async def go_on(self) -> None:
        """Release the stop."""
        ...

    async def read(self) -> Switches:
        """Tell which are thrown."""
        ...


class Vault(Protocol):
    """The evidence vault. Raises LedgerError; VaultError where no key opens what is kept."""

    async def show(self, finding_id: int, who: str, why: str) -> Sequence[StoredExcerpt]:
        """Open what is kept for a finding; the read is logged before it happens."""
        ...


Check = Callable[[], Awaitable[bool]]
"""Whether one part is ready; an exception counts as not ready."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The ports behind the routes."""

    settings: ApiSettings
    clock: Clock
    tokens: Tokens
    queue: Queue
    lookups: Lookups
    reports: Reports
    issues: Issues
    schedules: Schedules
    switches: StopBoard
    vault: Vault
    campaigns: Callable[[], Mapping[str, Campaign]]
    """Targets by name as configured now, after a reload too. Holds no address and no credential."""
    scenarios: Collection[str]
    """Names of all scenarios there are."""
    readiness: Mapping[str, Check]
    """By part: `database`, `scheduler`, `key`."""
    exposition: Callable[[], str]
    """All metrics in Prometheus text format 0.0.4."""
    report: Callable[[str, BaseException], None]
    """Takes a fault of our own: component and exception, of which the class alone may be told."""
