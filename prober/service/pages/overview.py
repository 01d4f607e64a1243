"""The first page: each target's verdict now, since when, what bounds it, what is next."""

import collections
import dataclasses
import datetime as dt
import itertools
from collections.abc import Iterable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from prober.domain.account import Scope
from prober.domain.budget import Standing
from prober.domain.issue import Issue, IssueState
from prober.domain.job import Job, JobState
from prober.domain.outcome import Outcome
from prober.service.api.desk import Schedule
from prober.service.pages.access import page, ports_of
from prober.service.pages.allowances import Allowance, tightest
from prober.service.pages.ports import PagePorts
from prober.service.pages.rendering import render
from prober.store.rows import StoredRun

MOST_RUNS = 100
"""Looked back over, to tell since when a verdict holds."""
STRIP_RUNS = 20
FRESH_FOR = dt.timedelta(days=1)
"""A clean verdict older than that says nothing of now: it is shown with its age, and not in green."""
_MOST_ISSUES = 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TargetRow:
    """One target as it stands."""

    name: str
    model: str
    build: str
    shared: bool
    latest: StoredRun | None
    """The run that ended last."""
    is_stale: bool
    """It was clean, and too long ago to stand for now."""
    since: dt.datetime | None
    """When the first of the latest runs with this verdict began."""
    is_since_longer: bool
    """All runs that were looked at have it: it may hold for longer."""
    strip: tuple[StoredRun, ...]
    """The latest runs that ended, oldest first."""
    under_way: StoredRun | None
    waiting: Job | None
    open_issues: collections.Counter[Outcome]
    schedule: Schedule | None
    """The one that runs next."""
    allowance: Allowance | None
    """The cap of which least is left."""


@page(Scope.READ)
async def show(request: Request) -> Response:
    """Show all targets."""
    ports = ports_of(request)
    schedules, standings = await ports.desk.schedules.listed(), await ports.standings()
    rows = [await _row(name, ports, schedules, standings) for name in ports.desk.campaigns()]
    switches = await ports.desk.switches.read()
    return render(request, "overview.html", rows=rows, stop=switches.stop)


async def _row(name: str, ports: PagePorts, schedules: Iterable[Schedule], standings: Sequence[Standing]) -> TargetRow:
    target = ports.desk.campaigns()[name].target
    runs = await ports.runs.runs(target=name, limit=MOST_RUNS)
    ended = [run for run in runs if run.ended_at is not None and run.outcome is not None]
    streak = streak_of(ended)
    waiting = await ports.desk.queue.listed(target=name, state=JobState.QUEUED, limit=1)
    counting = [state for state in IssueState if state.counts]
    listed = [await ports.desk.issues.listed(target=name, state=state, limit=_MOST_ISSUES) for state in counting]
    return TargetRow(
        name=name,
        model=target.model,
        build=target.build,
        shared=target.shared,
        latest=ended[0] if ended else None,
        is_stale=bool(ended) and is_stale(ended[0], ports.desk.clock.now()),
        since=streak[-1].started_at if streak else None,
        is_since_longer=len(runs) == MOST_RUNS and len(streak) == len(ended),
        strip=tuple(reversed(ended[:STRIP_RUNS])),
        under_way=next((run for run in runs if run.ended_at is None), None),
        waiting=waiting[0] if waiting else None,
        open_issues=open_issues(itertools.chain.from_iterable(listed)),
        schedule=next_of(schedules, name),
        allowance=tightest(standings, name, ports.currency()),
    )


def is_stale(run: StoredRun, now: dt.datetime) -> bool:
    """Whether a clean run ended too long ago to be the verdict now; anything worse stands until it is mended."""
    return run.outcome is Outcome.CLEAN and run.ended_at is not None and now - run.ended_at > FRESH_FOR


def streak_of(ended: Sequence[StoredRun]) -> list[StoredRun]:
    """Take the latest runs of one and the same outcome, newest first."""
    streak = []
    for run in ended:
        if run.outcome is not ended[0].outcome:
            break
        streak.append(run)
    return streak


def open_issues(issues: Iterable[Issue]) -> collections.Counter[Outcome]:
    """Count what nobody has settled, by outcome."""
    return collections.Counter(issue.outcome for issue in issues if issue.state.counts)


def next_of(schedules: Iterable[Schedule], target: str) -> Schedule | None:
    """Name the schedule that runs a target next; None: none does by itself."""
    due = [each for each in schedules if target in each.targets and each.next_at is not None]
    return min(due, key=lambda each: each.next_at or dt.datetime.max.replace(tzinfo=dt.UTC), default=None)
