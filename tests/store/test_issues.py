"""What people do with issues, on both databases."""

import datetime as dt

import pytest
import sqlalchemy as sa

from prober.domain.finding import Reason
from prober.domain.issue import Issue, IssueChange, IssueState
from prober.domain.outcome import Outcome
from prober.store.database import Database
from prober.store.issues import IssueBook
from prober.store.schema.issues import notices
from prober.store.schema.runs import findings
from tests.support.issues import OPS, Replica, a_finding
from tests.support.ledger import SettableClock

DAY = dt.timedelta(days=1)


@pytest.fixture
def replica(database: Database, clock: SettableClock) -> Replica:
    return Replica(database, clock, (OPS,))


@pytest.fixture
def book(database: Database, clock: SettableClock) -> IssueBook:
    return IssueBook(database, clock, (OPS,))


@pytest.fixture
async def issue(replica: Replica, book: IssueBook) -> Issue:
    """The one that a leak opened."""
    await replica.find(a_finding())
    (found,) = await book.listed()
    return found


async def told(database: Database) -> list[str]:
    async with database.read() as connection:
        facts = (await connection.execute(sa.select(notices.c.facts).order_by(notices.c.id))).scalars()
        return [each["change"] for each in facts]


async def test_an_issue_goes_its_way(book: IssueBook, issue: Issue, database: Database, clock: SettableClock):
    """Taken in hand, accepted until a date, done with: each with who, when and why, and each is told."""
    clock.advance(60)
    acknowledged = await book.acknowledge(issue.issue_id, "ann", "looking")
    suppressed = await book.suppress(issue.issue_id, "bob", clock.now() + DAY, "known")
    resolved = await book.resolve(issue.issue_id, "cleo", "fixed in 0.5.20")

    assert (acknowledged.state, acknowledged.changed_by, acknowledged.note) == (
        IssueState.ACKNOWLEDGED,
        "ann",
        "looking",
    )
    assert (suppressed.state, suppressed.suppressed_until) == (IssueState.SUPPRESSED, clock.now() + DAY)
    assert (resolved.state, resolved.suppressed_until, resolved.note) == (IssueState.RESOLVED, None, "fixed in 0.5.20")
    history = await book.history(issue.issue_id)
    assert [(entry.change, entry.by, entry.note) for entry in history[1:]] == [
        (IssueChange.ACKNOWLEDGED, "ann", "looking"),
        (IssueChange.SUPPRESSED, "bob", "known"),
        (IssueChange.RESOLVED, "cleo", "fixed in 0.5.20"),
    ]
    assert {entry.at for entry in history[1:]} == {clock.now()}
    assert await told(database) == ["opened", "acknowledged", "suppressed", "resolved"]


async def test_what_changes_nothing_is_not_told(book: IssueBook, issue: Issue, database: Database):
    """Twice the same, an acknowledgement of what is done with, a note: the state stays, words are kept."""
    await book.acknowledge(issue.issue_id, "ann")
    await book.acknowledge(issue.issue_id, "bob")
    await book.resolve(issue.issue_id, "ann")
    after = await book.acknowledge(issue.issue_id, "bob", "too late")
    noted = await book.annotate(issue.issue_id, "cleo", "see the post-mortem")

    assert (after.state, after.changed_by, after.note) == (IssueState.RESOLVED, "ann", "too late")
    assert noted.note == "see the post-mortem"
    changes = [entry.change.value for entry in await book.history(issue.issue_id)]
    assert changes == ["opened", "acknowledged", "resolved", "noted", "noted"]
    assert await told(database) == ["opened", "acknowledged", "resolved"]


async def test_a_note_after_a_suppression_swallows_no_reopening(
    replica: Replica, book: IssueBook, issue: Issue, database: Database, clock: SettableClock
):
    """Receivers were told that it is over: the next finding is told to them, whatever was written in between."""
    await book.suppress(issue.issue_id, "ann", clock.now() + DAY, "known")
    clock.advance(DAY.total_seconds())
    noted = await book.annotate(issue.issue_id, "bob", "that date is past")
    assert (noted.state, noted.note, noted.suppressed_until) == (IssueState.OPEN, "that date is past", None)

    await replica.find(a_finding())
    assert (await book.find(issue.issue_id)).reopened == 1
    assert await told(database) == ["opened", "suppressed", "reopened"]


async def test_what_people_write_is_never_told(book: IssueBook, issue: Issue, database: Database):
    """A note may quote what stands in the vault: it stays in the database."""
    await book.resolve(issue.issue_id, "ann-from-support", "customer text 4711")
    async with database.read() as connection:
        facts = str((await connection.execute(sa.select(notices.c.facts))).scalars().all())

    assert "4711" not in facts
    assert "ann-from-support" not in facts


async def test_a_suppression_needs_a_date_to_come(book: IssueBook, issue: Issue, clock: SettableClock):
    """A date that is past, or that nobody can place, is refused."""
    for until in (clock.now(), clock.now() - DAY, clock.now().replace(tzinfo=None) + DAY):
        with pytest.raises(ValueError, match="future"):
            await book.suppress(issue.issue_id, "ann", until)
    assert (await book.find(issue.issue_id)).state is IssueState.OPEN


async def test_an_issue_that_is_not_there_is_none(book: IssueBook, clock: SettableClock):
    """Every verb says so in the same way."""
    assert await book.find(4711) is None
    assert await book.history(4711) == ()
    assert await book.acknowledge(4711, "ann") is None
    assert await book.resolve(4711, "ann") is None
    assert await book.suppress(4711, "ann", clock.now() + DAY) is None
    assert await book.annotate(4711, "ann", "x") is None


async def test_issues_are_filtered_and_paged(replica: Replica, book: IssueBook, clock: SettableClock):
    """By target, state and outcome, newest first; a suppression that is over reads as open."""
    reasons = (Reason.FOREIGN_CANARY, Reason.LATE_ECHO, Reason.FOREIGN_TEXT, Reason.PREFILL_TOO_FAST)
    for reason in reasons:
        outcome = Outcome.SUSPECT if reason is Reason.PREFILL_TOO_FAST else Outcome.VIOLATION
        await replica.find(a_finding(outcome, reason))
    numbers = {issue.reason: issue.issue_id for issue in await book.listed()}
    await book.acknowledge(numbers[Reason.LATE_ECHO], "ann")
    await book.resolve(numbers[Reason.FOREIGN_TEXT], "ann")
    await book.suppress(numbers[Reason.PREFILL_TOO_FAST], "ann", clock.now() + DAY)

    async def reasons_of(**wanted: object) -> list[Reason]:
        return [issue.reason for issue in await book.listed(**wanted)]

    assert await reasons_of() == list(reversed(reasons))
    assert await reasons_of(target="elsewhere") == []
    assert await reasons_of(outcome=Outcome.SUSPECT) == [Reason.PREFILL_TOO_FAST]
    assert await reasons_of(state=IssueState.OPEN) == [Reason.FOREIGN_CANARY]
    assert await reasons_of(state=IssueState.RESOLVED) == [Reason.FOREIGN_TEXT]
    assert await reasons_of(state=IssueState.SUPPRESSED) == [Reason.PREFILL_TOO_FAST]
    assert await reasons_of(limit=2) == [Reason.PREFILL_TOO_FAST, Reason.FOREIGN_TEXT]
    assert await reasons_of(before=numbers[Reason.FOREIGN_TEXT]) == [Reason.LATE_ECHO, Reason.FOREIGN_CANARY]
    assert [issue.reason for issue in await book.unsettled()] == [Reason.FOREIGN_CANARY, Reason.LATE_ECHO]

    clock.advance(DAY.total_seconds())
    assert await reasons_of(state=IssueState.SUPPRESSED) == []
    assert await reasons_of(state=IssueState.OPEN) == [Reason.PREFILL_TOO_FAST, Reason.FOREIGN_CANARY]
    assert (await book.find(numbers[Reason.PREFILL_TOO_FAST])).state is IssueState.OPEN


async def test_an_issue_outlives_its_findings(book: IssueBook, issue: Issue, database: Database):
    """Findings are pruned; what is known of the issue stays, but for the latest one's message."""
    assert issue.message
    async with database.begin() as connection:
        await connection.execute(sa.delete(findings))

    after = await book.find(issue.issue_id)
    assert (after.message, after.count, after.last_finding_id) == ("", 1, issue.last_finding_id)
