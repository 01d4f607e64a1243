"""Issues: findings folded over runs, and what people do about them."""

import datetime as dt
from collections.abc import Mapping
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from prober.domain.account import Scope
from prober.domain.fault_kind import FaultKind
from prober.domain.issue import Issue, IssueState
from prober.domain.outcome import Outcome
from prober.report.advice import advice_on
from prober.report.wording import certainty
from prober.service.api.issues import LONGEST_SUPPRESSION
from prober.service.api.parameters import MOST_NOTE
from prober.service.pages.access import Denied, form, named, number_of, page, ports_of
from prober.service.pages.rendering import SITE, render

PER_PAGE = 50


@page(Scope.READ)
async def listed(request: Request) -> Response:
    """List issues, the one first seen last at the top; unsettled ones unless told otherwise."""
    ports, asked = ports_of(request), request.query_params
    target, before = named(asked.get("target")), asked.get("before", "")
    state = _one_of(IssueState, asked.get("state"))
    outcome = _one_of(Outcome, asked.get("outcome"))
    found = await ports.desk.issues.listed(
        target=target,
        state=state,
        outcome=outcome,
        limit=PER_PAGE + 1,
        before=int(before) if before.isascii() and before.isdecimal() and len(before) <= _MOST_DIGITS else None,
    )
    return render(
        request,
        "issues.html",
        issues=found[:PER_PAGE],
        older=found[PER_PAGE - 1].issue_id if len(found) > PER_PAGE else None,
        target=target,
        state=state,
        outcome=outcome,
        targets=list(ports.desk.campaigns()),
        states=list(IssueState),
        outcomes=[Outcome.VIOLATION, Outcome.SUSPECT],
    )


@page(Scope.READ)
async def show(request: Request) -> Response:
    """Show one with all that happened to it, and with what can be done about it."""
    ports, issue_id = ports_of(request), number_of(request, "issue_id")
    issue = _there(await ports.desk.issues.find(issue_id))
    today = ports.desk.clock.now().date()
    return render(
        request,
        "issue.html",
        issue=issue,
        history=await ports.desk.issues.history(issue_id),
        advice=advice_on(issue.reason),
        kinds=[FaultKind(code) for code in issue.kinds],
        certainty=certainty(issue.evidence_bits),
        most_note=MOST_NOTE,
        soonest=today + dt.timedelta(days=1),
        latest=today + LONGEST_SUPPRESSION,
    )


@form(Scope.ADMIN)
async def acknowledge(request: Request, fields: Mapping[str, str]) -> Response:
    """Take it in hand."""
    issues = ports_of(request).desk.issues
    return _back(await issues.acknowledge(_id(request), request.state.visitor.name, _note(fields)))


@form(Scope.ADMIN)
async def resolve(request: Request, fields: Mapping[str, str]) -> Response:
    """Call it mended."""
    issues = ports_of(request).desk.issues
    return _back(await issues.resolve(_id(request), request.state.visitor.name, _note(fields)))


@form(Scope.ADMIN)
async def annotate(request: Request, fields: Mapping[str, str]) -> Response:
    """Write a note."""
    issues = ports_of(request).desk.issues
    return _back(await issues.annotate(_id(request), request.state.visitor.name, _note(fields, is_needed=True)))


@form(Scope.ADMIN)
async def suppress(request: Request, fields: Mapping[str, str]) -> Response:
    """Accept it up to a day, which is over at midnight UTC."""
    ports = ports_of(request)
    now = ports.desk.clock.now()
    try:
        day = dt.date.fromisoformat(fields.get("until", ""))
        until = dt.datetime.combine(day, dt.time(), dt.UTC)
    except ValueError:
        raise Denied(422, "No day", "Say until which day it is accepted, as YYYY-MM-DD.") from None
    if not now < until <= now + LONGEST_SUPPRESSION:
        raise Denied(422, "Not that day", f"It must be in the future, at most {LONGEST_SUPPRESSION.days} days away.")
    note = _note(fields, is_needed=True)
    return _back(await ports.desk.issues.suppress(_id(request), request.state.visitor.name, until, note))


_MOST_DIGITS = 9
Choice = TypeVar("Choice", IssueState, Outcome)


def _one_of(kind: type[Choice], value: str | None) -> Choice | None:
    return next((each for each in kind if each.value == value), None)


def _id(request: Request) -> int:
    return number_of(request, "issue_id")


def _note(fields: Mapping[str, str], *, is_needed: bool = False) -> str:
    """Take what somebody wrote; forms send line ends as CR LF."""
    note = fields.get("note", "").replace("\r\n", "\n").strip()
    if is_needed and not note:
        raise Denied(422, "No note", "Write why, for whoever comes after you.")
    if len(note) > MOST_NOTE:
        raise Denied(422, "The note is too long", f"It may have {MOST_NOTE:,} characters.")
    if not all(character.isprintable() or character in "\n\t" for character in note):
        raise Denied(422, "The note cannot be kept", "It holds characters that cannot be shown.")
    return note


def _there(issue: Issue | None) -> Issue:
    if issue is None:
        raise Denied(404, "No such issue", "It was never opened, or is no longer kept.")
    return issue


def _back(issue: Issue | None) -> Response:
    return RedirectResponse(f"{SITE}/issues/{_there(issue).issue_id}", status_code=303)
