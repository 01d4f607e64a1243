"""`/issues`: findings folded over runs, and what people do about them."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, Field

from prober.domain.finding import Reason
from prober.domain.issue import Issue, IssueChange, IssueEntry, IssueState
from prober.domain.outcome import Outcome
from prober.service.api.access import Admin, AtDesk, Reader
from prober.service.api.document import answers
from prober.service.api.parameters import MOST_NOTE, Input, Name, Note, Output, Page, PagingById, RecordId, page_of
from prober.service.api.parameters import PrintableText as Printable
from prober.service.api.problems import Flaw, Problem, ProblemKind, not_found

router = APIRouter(prefix="/issues", tags=["issues"], responses=answers(ProblemKind.NOT_FOUND))

LONGEST_SUPPRESSION = dt.timedelta(days=366)


class IssueFilter(PagingById):
    """Which issues to list."""

    target: Name | None = None
    state: IssueState | None = None
    outcome: Outcome | None = None


class IssueShape(Output):
    """One problem of one target."""

    id: int
    fingerprint: str
    """Tells problems apart: target, detector and reason."""
    target: str
    detector: str
    reason: Reason
    outcome: Outcome
    """The worst seen since it was opened."""
    state: IssueState
    first_seen: dt.datetime
    last_seen: dt.datetime
    count: int
    """Findings since it was first opened."""
    reopened: int
    """How often it came back."""
    message: str
    """Of the latest finding."""
    kinds: list[str]
    last_run_id: str
    last_finding_id: int
    changed_by: str
    """API token or person that acknowledged, resolved or suppressed it last."""
    note: str
    suppressed_until: dt.datetime | None


class IssueEntryShape(Output):
    """One line of an issue's history."""

    at: dt.datetime
    change: IssueChange
    by: str
    """Empty: the prober itself."""
    outcome: Outcome
    note: str
    run_id: str
    until: dt.datetime | None


class IssueDetail(IssueShape):
    """An issue with its history."""

    history: list[IssueEntryShape]
    """Oldest first."""


class Remark(Input):
    """What is said about a step."""

    note: Note = ""


class Suppression(Input):
    """Until when an issue is accepted, and why."""

    until: AwareDatetime = Field(examples=["2026-12-24T00:00:00Z"])
    """In the future, at most 366 days away; then it is open again."""
    note: Annotated[str, Field(min_length=1, max_length=MOST_NOTE, pattern=Printable)]
    """Why it may be left alone."""


class Remarks(Input):
    """A note by itself."""

    note: Annotated[str, Field(min_length=1, max_length=MOST_NOTE, pattern=Printable)]


@router.get("")
async def list_issues(filters: Annotated[IssueFilter, Query()], desk: AtDesk, caller: Reader) -> Page[IssueShape]:
    """List issues, the one first seen last at the top."""
    del caller
    found = await desk.issues.listed(
        target=filters.target,
        state=filters.state,
        outcome=filters.outcome,
        limit=filters.limit + 1,
        before=filters.cursor,
    )
    return page_of(found, filters.limit, shape_of, lambda issue: issue.issue_id)


@router.get("/{issue_id}")
async def show_issue(issue_id: RecordId, desk: AtDesk, caller: Reader) -> IssueDetail:
    """Show one issue with all that happened to it."""
    del caller
    issue = _there(await desk.issues.find(issue_id))
    history = [_entry(entry) for entry in await desk.issues.history(issue_id)]
    return IssueDetail(**shape_of(issue).model_dump(), history=history)


@router.post("/{issue_id}/acknowledge")
async def acknowledge_issue(issue_id: RecordId, remark: Remark, desk: AtDesk, caller: Admin) -> IssueShape:
    """Take it in hand: it still counts, and its alert is quiet. One that is resolved stays so."""
    return shape_of(_there(await desk.issues.acknowledge(issue_id, caller.name, remark.note)))


@router.post("/{issue_id}/resolve")
async def resolve_issue(issue_id: RecordId, remark: Remark, desk: AtDesk, caller: Admin) -> IssueShape:
    """Call it mended: the next finding opens it again."""
    return shape_of(_there(await desk.issues.resolve(issue_id, caller.name, remark.note)))


@router.post("/{issue_id}/suppress")
async def suppress_issue(issue_id: RecordId, wish: Suppression, desk: AtDesk, caller: Admin) -> IssueShape:
    """Accept it until a date: findings are stored and counted, and nobody is told."""
    now = desk.clock.now()
    if not now < wish.until <= now + LONGEST_SUPPRESSION:
        message = f"must be in the future, at most {LONGEST_SUPPRESSION.days} days away"
        raise Problem(ProblemKind.INVALID, f"body.until: {message}", flaws=[Flaw(where="body.until", message=message)])
    return shape_of(_there(await desk.issues.suppress(issue_id, caller.name, wish.until, wish.note)))


@router.post("/{issue_id}/note")
async def annotate_issue(issue_id: RecordId, remarks: Remarks, desk: AtDesk, caller: Admin) -> IssueShape:
    """Write something about it, and change nothing else."""
    return shape_of(_there(await desk.issues.annotate(issue_id, caller.name, remarks.note)))


def shape_of(issue: Issue) -> IssueShape:
    """Show an issue in a list."""
    return IssueShape(
        id=issue.issue_id,
        fingerprint=issue.fingerprint,
        target=issue.target,
        detector=issue.detector,
        reason=issue.reason,
        outcome=issue.outcome,
        state=issue.state,
        first_seen=issue.first_seen,
        last_seen=issue.last_seen,
        count=issue.count,
        reopened=issue.reopened,
        message=issue.message,
        kinds=list(issue.kinds),
        last_run_id=issue.last_run_id,
        last_finding_id=issue.last_finding_id,
        changed_by=issue.changed_by,
        note=issue.note,
        suppressed_until=issue.suppressed_until,
    )


def _entry(entry: IssueEntry) -> IssueEntryShape:
    return IssueEntryShape(
        at=entry.at,
        change=entry.change,
        by=entry.by,
        outcome=entry.outcome,
        note=entry.note,
        run_id=entry.run_id,
        until=entry.until,
    )


def _there(issue: Issue | None) -> Issue:
    if issue is None:
        raise not_found("issue")
    return issue
