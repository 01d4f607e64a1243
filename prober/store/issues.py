"""What people do with issues: look at them, acknowledge, resolve, suppress, write notes."""

import dataclasses
import datetime as dt
from collections.abc import Callable, Sequence

import sqlalchemy as sa

from prober.domain.issue import Issue, IssueChange, IssueEntry, IssueState
from prober.domain.notice import Route
from prober.domain.outcome import Outcome
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.folding import enter, store
from prober.store.issue_rows import HISTORY, ISSUES, entry_of, issue_of
from prober.store.rows import clip
from prober.store.schema.issues import NOTE_LENGTH, issue_history, issues
from prober.store.self_test_rows import is_of_users

Step = Callable[[Issue], Issue]
"""From an issue to what a person makes of it; itself where there is nothing to change."""


class IssueBook:
    """Issues as of now: a suppression that is over reads as open. Raises LedgerError only, where nothing else is said.

    Changes are put into the outbox of those whom `routes` name, in the same transaction. `by` is a person's or an API
    token's name; names and notes are cut at 200 and 1,000 characters.
    """

    def __init__(self, database: Database, clock: Clock, routes: Sequence[Route] = ()) -> None:
        self._database = database
        self._clock = clock
        self._routes = tuple(routes)

    async def listed(
        self,
        *,
        target: str | None = None,
        state: IssueState | None = None,
        outcome: Outcome | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> tuple[Issue, ...]:
        """List issues, the latest first seen first; for the next page, `before` is the last one's number.

        Those of a self-test stand there only where its own target is asked for.
        """
        now = self._clock.now()
        query = ISSUES.order_by(issues.c.id.desc()).limit(limit)
        query = query.where(is_of_users(issues.c.target) if target is None else issues.c.target == target)
        if state is not None:
            query = query.where(_is_in(state, now))
        if outcome is not None:
            query = query.where(issues.c.outcome == outcome)
        if before is not None:
            query = query.where(issues.c.id < before)
        async with self._database.read() as connection:
            return tuple(issue_of(row).at(now) for row in await connection.execute(query))

    async def find(self, issue_id: int) -> Issue | None:
        """Show one issue."""
        async with self._database.read() as connection:
            row = (await connection.execute(ISSUES.where(issues.c.id == issue_id))).one_or_none()
        return None if row is None else issue_of(row).at(self._clock.now())

    async def history(self, issue_id: int) -> tuple[IssueEntry, ...]:
        """Tell what happened to an issue, oldest first; empty where there is none."""
        async with self._database.read() as connection:
            rows = await connection.execute(HISTORY.where(issue_history.c.issue_id == issue_id))
            return tuple(map(entry_of, rows))

    async def unsettled(self) -> tuple[Issue, ...]:
        """All issues that count, open or acknowledged, oldest first; none of a self-test."""
        now = self._clock.now()
        counting = sa.or_(*(_is_in(state, now) for state in IssueState if state.counts))
        async with self._database.read() as connection:
            rows = await connection.execute(ISSUES.where(counting, is_of_users(issues.c.target)).order_by(issues.c.id))
            return tuple(issue_of(row).at(now) for row in rows)

    async def acknowledge(self, issue_id: int, by: str, note: str = "") -> Issue | None:
        """Take an issue in hand; it still counts. One that is resolved stays so. None where there is none."""

        def step(issue: Issue) -> Issue:
            if issue.state in {IssueState.ACKNOWLEDGED, IssueState.RESOLVED}:
                return issue
            return dataclasses.replace(issue, state=IssueState.ACKNOWLEDGED, suppressed_until=None)

        return await self._change(issue_id, IssueChange.ACKNOWLEDGED, step, by, note)

    async def resolve(self, issue_id: int, by: str, note: str = "") -> Issue | None:
        """Call an issue done with; the next finding opens it again. None where there is none."""

        def step(issue: Issue) -> Issue:
            return dataclasses.replace(issue, state=IssueState.RESOLVED, suppressed_until=None)

        return await self._change(issue_id, IssueChange.RESOLVED, step, by, note)

    async def suppress(self, issue_id: int, by: str, until: dt.datetime, note: str = "") -> Issue | None:
        """Accept an issue until a date, after which it is open again. None where there is none.

        Raises:
            ValueError: the date has no time zone, or is not in the future.
        """
        if until.tzinfo is None or until <= self._clock.now():
            raise ValueError("a suppression needs a date in the future, with its time zone")

        def step(issue: Issue) -> Issue:
            return dataclasses.replace(issue, state=IssueState.SUPPRESSED, suppressed_until=until)

        return await self._change(issue_id, IssueChange.SUPPRESSED, step, by, note)

    async def annotate(self, issue_id: int, by: str, note: str) -> Issue | None:
        """Write something about an issue, which changes nothing else. None where there is none."""
        return await self._change(issue_id, IssueChange.NOTED, lambda issue: issue, by, note)

    async def _change(self, issue_id: int, change: IssueChange, step: Step, by: str, note: str) -> Issue | None:
        """Take one step; what it does not change is no change, but a note is always kept."""
        now = self._clock.now()
        who, words = clip(by), clip(note, NOTE_LENGTH)
        async with self._database.begin() as connection:
            locked = sa.select(issues).where(issues.c.id == issue_id).with_for_update()
            row = (await connection.execute(locked)).one_or_none()
            if row is None:
                return None
            stored = issue_of(row)
            before = stored.at(now)
            after = step(before)
            is_changed = after != before
            # A suppression that is over must stay one until a finding reopens the issue: that finding is told.
            after = dataclasses.replace(after, changed_by=who) if is_changed else stored
            if not is_changed:
                change = IssueChange.NOTED
            if is_changed or words:
                after = dataclasses.replace(after, note=words or after.note)
                await store(connection, after)
                entry = IssueEntry(
                    at=now, change=change, by=who, outcome=after.outcome, note=words, until=after.suppressed_until
                )
                await enter(connection, after, entry, self._routes)
        return await self.find(issue_id)


def _is_in(state: IssueState, now: dt.datetime) -> sa.ColumnElement[bool]:
    """The condition that an issue stands so, suppressions that are over taken for open."""
    is_over = sa.and_(issues.c.state == IssueState.SUPPRESSED, issues.c.suppressed_until <= now)
    match state:
        case IssueState.OPEN:
            return sa.or_(issues.c.state == IssueState.OPEN, is_over)
        case IssueState.SUPPRESSED:
            return sa.and_(issues.c.state == IssueState.SUPPRESSED, issues.c.suppressed_until > now)
        case _:
            return issues.c.state == state
