"""What self-tests leave is nobody's business, and goes away, on both databases."""

import dataclasses
import datetime as dt

import pytest
import sqlalchemy as sa

from prober.domain.notice import Route
from prober.domain.self_test import self_test_name
from prober.store.database import Database
from prober.store.issues import IssueBook
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from prober.store.outbox import Outbox
from prober.store.reports import StoredReports
from prober.store.retention import Limits, Retention
from prober.store.schema.columns import metadata
from prober.store.self_test_rows import STALE_AFTER, Told, forget, forget_stale, told
from tests.support.ledger import SettableClock
from tests.support.reports import a_leak, a_report
from tests.support.stored import CHECK, PROMPT, judged, opened

NAME, OTHER = self_test_name("one"), self_test_name("two")
AGES = dt.timedelta(days=3_650)


class Station:
    """Writes runs that find a leak, as the ledger of a run does."""

    def __init__(self, database: Database, clock: SettableClock) -> None:
        self.database, self.clock = database, clock
        self.issues = IssueBook(database, clock)
        self.lookups = LedgerLookups(database, clock)

    async def leak(self, target: str) -> str:
        """Find one on a target; its receiver is called like it. Gives the run's id."""
        ledger = SqlLedger(self.database, self.clock, routes=(Route(receiver=target),))
        run = await opened(ledger, run_id=f"run on {target}", started_at=self.clock.now())
        campaign = run.campaign
        run = dataclasses.replace(
            run, campaign=dataclasses.replace(campaign, target=dataclasses.replace(campaign.target, name=target))
        )
        async with self.database.begin() as connection:
            query = "UPDATE runs SET target = :target WHERE run_id = :run_id"
            await connection.execute(sa.text(query), {"target": target, "run_id": run.run_id})
        await ledger.remember(run, [(CHECK, PROMPT)])
        await ledger.record(run, judged(a_leak()))
        await ledger.close_run(a_report(run=run, ended_at=self.clock.now(), findings=(a_leak(),)))
        return run.run_id

    async def rows(self) -> dict[str, int]:
        """How many rows each table holds, empty ones left out."""
        counts = {}
        async with self.database.read() as connection:
            for table in metadata.sorted_tables:
                counts[table.name] = (
                    await connection.execute(sa.select(sa.func.count()).select_from(table))
                ).scalar_one()
        return {name: count for name, count in counts.items() if count}


@pytest.fixture
def station(database: Database, clock: SettableClock) -> Station:
    return Station(database, clock)


async def test_self_tests_stand_among_nobodys_own(station: Station, clock: SettableClock):
    """Runs, findings, issues, backlog, the latest report: a self-test shows only where it is asked for by name."""
    own = await station.leak("staging")
    clock.advance(1)
    run_id = await station.leak(NAME)

    assert [run.run_id for run in await station.lookups.runs()] == [own]
    assert {found.run_id for found in await station.lookups.findings()} == {own}
    assert {issue.target for issue in await station.issues.listed()} == {"staging"}
    assert {issue.target for issue in await station.issues.unsettled()} == {"staging"}
    assert [each.receiver for each in await Outbox(station.database, clock, "one").backlog()] == ["staging"]
    assert await StoredReports(station.database).latest() == own

    assert [run.run_id for run in await station.lookups.runs(target=NAME)] == [run_id]
    assert {found.run_id for found in await station.lookups.findings(run_id=run_id)} == {run_id}
    assert {found.run_id for found in await station.lookups.findings(target=NAME)} == {run_id}
    assert {issue.target for issue in await station.issues.listed(target=NAME)} == {NAME}


async def test_a_self_test_leaves_nothing(station: Station, clock: SettableClock):
    """Forgetting one deletes all that hangs on it, and nothing of anybody else's."""
    await station.leak("staging")
    await station.leak(OTHER)
    before = await station.rows()
    await station.leak(NAME)
    assert await Outbox(station.database, clock, "one").claim(NAME, dt.timedelta(minutes=2)) is not None
    assert await station.rows() != before

    await forget(station.database, NAME)

    assert await station.rows() == before
    assert [run.target for run in await station.lookups.runs(target=OTHER)] == [OTHER]


async def test_what_a_killed_self_test_left_goes_with_the_next(station: Station, clock: SettableClock):
    """An hour later it must be dead; what another replica tests is left alone, and so is all of the users'."""
    await station.leak("staging")
    await station.leak(NAME)
    outbox = Outbox(station.database, clock, "one")
    turn = await outbox.claim(NAME, dt.timedelta(minutes=2))
    assert turn is not None
    await outbox.yield_turn(turn)
    clock.advance(STALE_AFTER.total_seconds() + 1)
    await station.leak(OTHER)

    await forget_stale(station.database, clock.now())

    assert await station.lookups.runs(target=NAME) == ()
    assert await station.issues.listed(target=NAME) == ()
    assert (await told(station.database, NAME)).pending == 0
    assert len(await station.lookups.runs(target=OTHER)) == 1
    assert (await told(station.database, OTHER)).pending == 1
    assert len(await station.lookups.runs()) == 1


async def test_pruning_takes_what_a_killed_self_test_left(station: Station, clock: SettableClock):
    """Its issue is open and would hold its findings for ever; ages and size have nothing to do with it."""
    await station.leak("staging")
    before = await station.rows()
    await station.leak(NAME)
    clock.advance(STALE_AFTER.total_seconds() + 1)
    limits = Limits(observations=AGES, runs=AGES, findings=AGES, vault=AGES, max_bytes=1 << 40)

    await Retention(station.database, clock, limits).prune()

    assert await station.rows() == before


async def test_how_its_notices_fared_can_be_told(station: Station, clock: SettableClock):
    """Waiting, sent, refused for good, and what the receiver said."""
    await station.leak(NAME)
    assert await told(station.database, NAME) == Told(sent=0, pending=1, failed=0, last_answer="")
    outbox = Outbox(station.database, clock, "one")
    turn = await outbox.claim(NAME, dt.timedelta(minutes=2))
    assert turn is not None
    (waiting,) = await outbox.due(turn)

    await outbox.settle_later(turn, (waiting.row_id,), "HTTP 503", dt.timedelta(seconds=1))
    assert await told(station.database, NAME) == Told(sent=0, pending=1, failed=0, last_answer="HTTP 503")
    await outbox.settle_refused(turn, (waiting.row_id,), "m", "HTTP 400")
    assert await told(station.database, NAME) == Told(sent=0, pending=0, failed=1, last_answer="HTTP 400")
    await outbox.settle_sent(turn, (waiting.row_id,), "m", "HTTP 200")
    assert (await told(station.database, NAME)).sent == 1
