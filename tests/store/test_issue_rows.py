"""Issues and their history as table rows."""

import sqlalchemy as sa

from prober.domain.finding import Reason
from prober.domain.issue import IssueChange, IssueEntry
from prober.domain.outcome import Outcome
from prober.store.database import Database
from prober.store.issue_rows import HISTORY, ISSUES, entry_of, entry_row, fingerprint_of, issue_of, issue_row
from prober.store.schema.issues import issue_history, issues
from tests.support.issues import SEEN, an_issue


def test_a_fingerprint_is_the_same_everywhere():
    """Stored for years and sent to receivers as their key: it must never change, nor run two things together."""
    assert fingerprint_of("staging", "foreign_canary", Reason.FOREIGN_CANARY) == (
        "222c597717f5d87cbc47892212a16e69b59be01101581a6e9e8ebc2f03c13aed"
    )
    assert fingerprint_of("a", "bc", Reason.HANG) != fingerprint_of("ab", "c", Reason.HANG)


async def test_an_issue_and_an_entry_come_back_as_they_were(database: Database):
    """Every field survives the database; the message of a finding that was pruned is empty."""
    issue = an_issue(
        suppressed_until=SEEN, changed_by="ann", note="seen on every build", reopened=2, count=2**40, issue_id=1
    )
    entry = IssueEntry(
        at=SEEN, change=IssueChange.SUPPRESSED, by="ann", outcome=Outcome.SUSPECT, note="n", run_id="r", until=SEEN
    )
    identity = {name: getattr(issue, name) for name in ("fingerprint", "target", "detector", "reason")}
    async with database.begin() as connection:
        await connection.execute(sa.insert(issues).values({**identity, **issue_row(issue)}))
        await connection.execute(sa.insert(issue_history).values(entry_row(1, entry)))
    async with database.read() as connection:
        assert issue_of((await connection.execute(ISSUES)).one()) == issue
        assert entry_of((await connection.execute(HISTORY)).one()) == entry
