"""Findings become issues: what each finding, and each clean run, does to them. Runs inside the ledger's transaction."""

import collections
import dataclasses
import datetime as dt
import itertools
import uuid
from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.campaign import Trigger
from prober.domain.finding import Finding, Reason
from prober.domain.issue import Issue, IssueChange, IssueEntry, IssueState
from prober.domain.notice import Donor, IssueNotice, Route, VerdictNotice
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from prober.domain.verdict import RunReport
from prober.store.issue_rows import entry_row, fingerprint_of, issue_of, issue_row
from prober.store.lookups import whose
from prober.store.notices import insert_if_new, put
from prober.store.schema.issues import issue_history, issues
from prober.store.schema.runs import runs

MAX_DONORS = 5
"""One leak may name many donors; a notice names the strongest."""

Weighed = tuple[str, Outcome, Reason]
"""Detector, outcome and reason of a finding: what decides on its issue."""

_BAD = (Outcome.SUSPECT, Outcome.VIOLATION)
_CHECKING = {Role.CHECK.value, Role.CONFIRMATION.value}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One stored finding, and how it was come by."""

    finding_id: int
    run_id: str
    target: str
    finding: Finding

    @property
    def fingerprint(self) -> str:
        """Of the issue it belongs to."""
        return fingerprint_of(self.target, self.finding.detector, self.finding.reason)


def not_in(counted: collections.Counter[Weighed], found: Iterable[Found]) -> list[Found]:
    """Leave out findings that were counted already, when the same run was closed before."""
    left = collections.Counter(counted)
    new = []
    for each in found:
        weighed = (each.finding.detector, each.finding.outcome, each.finding.reason)
        if left[weighed]:
            left[weighed] -= 1
        else:
            new.append(each)
    return new


def fold(issue: Issue, found: Found, scenarios: Sequence[str], now: dt.datetime) -> tuple[Issue, IssueChange | None]:
    """Add one finding to its issue, and say what that changes, None for one more of the same.

    An issue with a count of 0 is new. What was settled, or whose suppression is over, is opened again, and counts
    from the beginning what it counts "since it was opened".
    """
    current = issue.at(now)
    change = _change(issue, current, found.finding)
    is_new = change in {IssueChange.OPENED, IssueChange.REOPENED}
    known = () if is_new else issue.scenarios
    bits = 0.0 if is_new else issue.evidence_bits
    return (
        dataclasses.replace(
            current,
            outcome=found.finding.outcome if is_new or change else issue.outcome,
            state=IssueState.OPEN if change else current.state,
            suppressed_until=None if change else current.suppressed_until,
            first_seen=now if change is IssueChange.OPENED else issue.first_seen,
            last_seen=now,
            opened_at=now if is_new else issue.opened_at,
            count=issue.count + 1,
            reopened=issue.reopened + (change is IssueChange.REOPENED),
            kinds=tuple(kind.value for kind in found.finding.kinds) or issue.kinds,
            scenarios=tuple(sorted({*known, *scenarios})),
            evidence_bits=max(bits, found.finding.evidence_bits),
            last_run_id=found.run_id,
            last_finding_id=found.finding_id,
        ),
        change,
    )


def _change(issue: Issue, current: Issue, finding: Finding) -> IssueChange | None:
    if issue.count == 0:
        return IssueChange.OPENED
    if issue.state is IssueState.RESOLVED or current.state is not issue.state:
        return IssueChange.REOPENED
    return IssueChange.WORSENED if finding.outcome.rank > issue.outcome.rank else None


async def fold_all(
    connection: AsyncConnection,
    found: Iterable[Found],
    scenarios: Sequence[str],
    now: dt.datetime,
    routes: Sequence[Route],
) -> None:
    """Fold the bad ones of these findings into their issues; what changes is told.

    `scenarios` found them: the probe's, or all of a run's for findings about it as a whole.

    Each issue's row stays locked to the transaction's end, and rows are locked in the order of their fingerprints:
    replicas that find the same things at once wait for each other, never in a ring.
    """
    bad = sorted(
        (each for each in found if each.finding.outcome in _BAD),
        key=lambda each: (each.fingerprint, -each.finding.outcome.rank, each.finding_id),
    )
    for _, group in itertools.groupby(bad, key=lambda each: each.fingerprint):
        members = list(group)
        issue = await _locked(connection, members[0], now)
        # The worst comes first, so that a group makes at most one change.
        changes = []
        for member in members:
            issue, change = fold(issue, member, scenarios, now)
            changes.append(change)
        await store(connection, issue)
        if changes[0] is not None:
            entry = IssueEntry(at=now, change=changes[0], by="", outcome=issue.outcome, run_id=issue.last_run_id)
            donors = await _donors(connection, members)
            await enter(connection, issue, entry, routes, donors)


async def _locked(connection: AsyncConnection, found: Found, now: dt.datetime) -> Issue:
    """Take the issue of a finding for ourselves; one that nobody has seen yet begins with a count of 0."""
    finding = found.finding
    fresh = Issue(
        issue_id=0,
        fingerprint=found.fingerprint,
        target=found.target,
        detector=finding.detector,
        reason=finding.reason,
        outcome=finding.outcome,
        state=IssueState.OPEN,
        first_seen=now,
        last_seen=now,
        count=0,
    )
    identity = {name: getattr(fresh, name) for name in ("fingerprint", "target", "detector", "reason")}
    await connection.execute(insert_if_new(connection, issues).values({**identity, **issue_row(fresh)}))
    query = sa.select(issues).where(issues.c.fingerprint == fresh.fingerprint).with_for_update()
    return issue_of((await connection.execute(query)).one())


async def store(connection: AsyncConnection, issue: Issue) -> None:
    """Write an issue back over its row."""
    await connection.execute(sa.update(issues).where(issues.c.id == issue.issue_id).values(issue_row(issue)))


async def enter(
    connection: AsyncConnection,
    issue: Issue,
    entry: IssueEntry,
    routes: Sequence[Route],
    donors: tuple[Donor, ...] = (),
) -> None:
    """Add a line to an issue's history and, but for mere notes, tell those whom it concerns."""
    await connection.execute(sa.insert(issue_history).values(entry_row(issue.issue_id, entry)))
    if entry.change is not IssueChange.NOTED:
        notice = IssueNotice(event_id=str(uuid.uuid4()), at=entry.at, change=entry.change, issue=issue, donors=donors)
        await put(connection, notice, routes)


async def _donors(connection: AsyncConnection, found: Sequence[Found]) -> tuple[Donor, ...]:
    sightings = sorted(
        (sighting for each in found for sighting in each.finding.sightings),
        key=lambda sighting: -sighting.evidence_bits,
    )
    donors = []
    for canary in list(dict.fromkeys(sighting.canary for sighting in sightings))[:MAX_DONORS]:
        owner = await whose(connection, canary)
        tenant = f"tenant {canary.tenant_number}" if owner is None else owner.tenant
        donors.append(Donor(canary=str(canary), tenant=tenant, run_id="" if owner is None else owner.run_id))
    return tuple(donors)


def sound_scenarios(report: RunReport) -> frozenset[str]:
    """Name the scenarios of a run that were judged to their end and were clean throughout, checks among them.

    A finding about the run as a whole leaves none: it was cut short, or could not be judged. Planned hang-ups weigh
    nothing, as in the verdict.
    """
    dirty = [
        finding
        for finding in report.findings
        if finding.outcome is not Outcome.CLEAN and finding.reason is not Reason.ABANDONED
    ]
    if any(not finding.probe_label for finding in dirty):
        return frozenset()
    labels = {finding.probe_label for finding in dirty}
    unsound = {probe.scenario for probe in report.probes if probe.label in labels}
    checked = {probe.scenario for probe in report.probes if probe.role in _CHECKING and probe.outcome is Outcome.CLEAN}
    return frozenset(checked - unsound)


async def close_by(connection: AsyncConnection, report: RunReport, routes: Sequence[Route]) -> None:
    """Close the open issues of a run's target that it would have found again, had they still been there.

    That is: all scenarios that found the issue since it was opened were clean throughout in this run, which began
    after the issue was last seen. A run that is INCONCLUSIVE in one of them closes nothing of it.
    """
    sound = sound_scenarios(report)
    if not sound:
        return
    run, now = report.run, report.ended_at
    query = (
        sa.select(issues)
        .where(
            issues.c.target == run.campaign.target.name,
            issues.c.state != IssueState.RESOLVED,
            issues.c.last_seen <= run.started_at,
        )
        .order_by(issues.c.fingerprint)
        .with_for_update()
    )
    for row in (await connection.execute(query)).all():
        issue = issue_of(row).at(now)
        if issue.state.counts and issue.scenarios and sound.issuperset(issue.scenarios):
            closed = dataclasses.replace(issue, state=IssueState.RESOLVED, changed_by="")
            await store(connection, closed)
            entry = IssueEntry(at=now, change=IssueChange.CLOSED, by="", outcome=closed.outcome, run_id=run.run_id)
            await enter(connection, closed, entry, routes)


async def tell_verdict(connection: AsyncConnection, run_id: str, routes: Sequence[Route]) -> None:
    """Tell the verdict of a rollout's run that has just ended; the same verdict is told once."""
    row = (await connection.execute(sa.select(runs).where(runs.c.run_id == run_id))).one()
    if row.trigger is not Trigger.ROLLOUT:
        return
    notice = VerdictNotice(
        event_id=f"{run_id}-{row.outcome.value}",
        at=row.ended_at,
        run_id=run_id,
        target=row.target,
        build=row.build,
        outcome=row.outcome,
        reasons=tuple(map(Reason, row.reasons or ())),
    )
    await put(connection, notice, routes)
