"""A run that is asked for: by a schedule, by a person, by a rollout. All three wait in one queue."""

import dataclasses
import datetime as dt
import enum
from collections.abc import Mapping

from prober.domain.campaign import Trigger
from prober.domain.outcome import Outcome


class JobState(enum.Enum):
    """Where a job stands; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    """It has a verdict, INCONCLUSIVE included."""
    CANCELLED = "cancelled"
    """Before it was claimed; one that ran already ends as DONE and INCONCLUSIVE."""
    MISSED = "missed"
    """A slot of a schedule that nobody could run in time; it says why."""


class MissedReason(enum.Enum):
    """Why a slot of a schedule was not run. The value is the job's note."""

    DOWN = "down"
    """No replica was there."""
    LATE = "late"
    """A replica was there and came to it too late: suspended, blocked, or without its database."""
    OVERLAP = "overlap"
    """The schedule's previous run on the target was still waiting or running."""
    QUIET_HOURS = "quiet_hours"
    """The configuration wants silence then."""
    STOPPED = "stopped"
    """The global stop switch was set."""
    BREAKER = "breaker"
    """The target answered only errors lately, and is probed at a trickle."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """What to run. One path for all triggers."""

    target: str
    trigger: Trigger
    scenarios: tuple[str, ...] = ()
    """Empty: those of the configuration."""
    max_run_tokens: int | None = None
    """None: the configuration's."""
    requested_by: str = ""
    """Name of the API token, or `schedule`."""
    slot: str | None = None
    """`<schedule>/<target>/<ISO 8601 UTC time>`: no two jobs share one, whatever the number of replicas."""
    idempotency_key: str | None = None
    """Of the caller: a second request with the same key is the first one's."""
    facts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Of the rollout, as the caller names them (build, checksum, commit, url); stored and given back, never judged."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A request with what became of it."""

    job_id: str
    request: JobRequest
    state: JobState
    queued_at: dt.datetime
    attempts: int = 0
    """Claims so far; a claim lost with its replica counts."""
    fence: int = 0
    """Grows with each claim. Who writes with an older one is refused."""
    holder: str | None = None
    """Replica that runs it."""
    lease_until: dt.datetime | None = None
    run_id: str | None = None
    """Of the latest attempt; once the job has ended, of the attempt that its outcome is of."""
    ended_at: dt.datetime | None = None
    outcome: Outcome | None = None
    """Of the verdict; None until DONE."""
    note: str = ""
    """Why it was missed, cancelled or taken over, in our words."""
    is_cancel_requested: bool = False
