"""Notices as rows of the outbox, and back: written with what they tell about, in one transaction."""

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.errors import LedgerError
from prober.domain.finding import Reason
from prober.domain.issue import Issue, IssueChange, IssueState
from prober.domain.notice import Donor, IssueNotice, Notice, Route, TrialNotice, VerdictNotice
from prober.domain.outcome import Outcome
from prober.store.schema.issues import notices


def insert_if_new(connection: AsyncConnection, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """Begin an INSERT that leaves a row alone that is there already."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    return insert(table).on_conflict_do_nothing()


async def put(connection: AsyncConnection, notice: Notice, routes: Sequence[Route]) -> None:
    """Add one row per receiver that gets this notice; one that is there already is not added again."""
    facts = facts_of(notice)
    rows = [
        {
            "event_id": notice.event_id,
            "receiver": route.receiver,
            "subject": notice.subject,
            "facts": facts,
            "created_at": notice.at,
            "attempts": 0,
            "last_answer": "",
        }
        for route in routes
        if _takes(route, notice)
    ]
    for row in rows:
        await connection.execute(insert_if_new(connection, notices).values(row))


def _takes(route: Route, notice: Notice) -> bool:
    match notice:
        case IssueNotice():
            return route.takes_issue(notice.issue)
        case VerdictNotice():
            return route.takes_verdict(notice.target)
        case TrialNotice():
            return True


def facts_of(notice: Notice) -> dict[str, Any]:
    """Put a notice into JSON values, an issue without what people and detectors wrote about it."""
    facts = _plain(dataclasses.asdict(notice))
    for field in ("message", "note", "changed_by"):
        facts.get("issue", {}).pop(field, None)
    return {"kind": _KINDS[type(notice)], **facts}


_KINDS = {IssueNotice: "issue", VerdictNotice: "verdict", TrialNotice: "trial"}


def _plain(value: Any) -> Any:  # noqa: ANN401 - any field of a notice
    match value:
        case dict():
            return {key: _plain(inner) for key, inner in value.items()}
        case tuple():
            return [_plain(inner) for inner in value]
        case dt.datetime():
            return value.isoformat()
        case Outcome() | Reason() | IssueChange() | IssueState():
            return value.value
        case _:
            return value


def notice_of(facts: Mapping[str, Any]) -> Notice:
    """Read a notice back; facts that this version does not know are left out.

    Raises:
        LedgerError: it was written by a newer version, with a code that this one does not know.
    """
    try:
        kind, head = facts["kind"], {"event_id": facts["event_id"], "at": dt.datetime.fromisoformat(facts["at"])}
        if kind == "issue":
            donors = tuple(_only(Donor, donor) for donor in facts["donors"])
            return IssueNotice(**head, change=IssueChange(facts["change"]), issue=_issue(facts["issue"]), donors=donors)
        if kind == "verdict":
            return VerdictNotice(
                **head,
                run_id=facts["run_id"],
                target=facts["target"],
                build=facts["build"],
                outcome=Outcome(facts["outcome"]),
                reasons=tuple(map(Reason, facts["reasons"])),
            )
        if kind == "trial":
            return TrialNotice(**head)
    except (KeyError, TypeError, ValueError):
        pass
    raise LedgerError("The outbox holds a notice of a newer version of the prober; upgrade this one.")


def _issue(facts: Mapping[str, Any]) -> Issue:
    names = ("first_seen", "last_seen", "opened_at", "suppressed_until")
    dates = {name: dt.datetime.fromisoformat(facts[name]) for name in names if facts[name] is not None}
    issue: Issue = _only(
        Issue,
        {
            **facts,
            **dates,
            "reason": Reason(facts["reason"]),
            "outcome": Outcome(facts["outcome"]),
            "state": IssueState(facts["state"]),
            "kinds": tuple(facts["kinds"]),
            "scenarios": tuple(facts["scenarios"]),
        },
    )
    return issue


def _only(kind: Any, facts: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a dataclass, and an instance of it
    """Build a value from the facts that its class knows."""
    names = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in facts.items() if name in names})
