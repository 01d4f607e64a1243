"""What waits to be told, and which replica tells it, on both databases."""

import asyncio
import datetime as dt

import pytest
import sqlalchemy as sa

from prober.domain.errors import LeaseLostError
from prober.domain.issue import IssueChange
from prober.domain.notice import Notice, Route
from prober.store.database import Database
from prober.store.notices import put
from prober.store.outbox import (
    GIVE_UP_AFTER,
    KEEP_FAILED,
    KEEP_SENT,
    LONGEST_PAUSE,
    Outbox,
    Turn,
)
from prober.store.schema.issues import notices, receivers
from tests.support.issues import a_notice
from tests.support.ledger import SettableClock

LEASE = dt.timedelta(minutes=1)


@pytest.fixture
def box(database: Database, clock: SettableClock) -> Outbox:
    return Outbox(database, clock, "one")


@pytest.fixture
def other(database: Database, clock: SettableClock) -> Outbox:
    return Outbox(database, clock, "other")


async def add(database: Database, *told: Notice, receiver: str = "ops") -> None:
    async with database.begin() as connection:
        for notice in told:
            await put(connection, notice, (Route(receiver=receiver),))


async def pass_time(database: Database, clock: SettableClock, time: dt.timedelta) -> None:
    """Let time go by for everything that replicas share; PostgreSQL's own clock cannot be set, so its dates are."""
    if database.kind == "sqlite":
        clock.advance(time.total_seconds())
        return
    clock.advance(time.total_seconds())
    async with database.begin() as connection:
        for column in (receivers.c.lease_until, receivers.c.paused_until):
            await connection.execute(sa.update(receivers).values({column.name: column - sa.literal(time, sa.Interval)}))


async def claimed(box: Outbox) -> Turn:
    turn = await box.claim("ops", LEASE)
    assert turn is not None
    return turn


async def events(box: Outbox, turn: Turn) -> list[str]:
    return [waiting.notice.event_id for waiting in await box.due(turn)]


async def row(database: Database) -> sa.Row:
    async with database.read() as connection:
        return (await connection.execute(sa.select(notices))).one()


# --- turns ----------------------------------------------------------------------------------------------------------


async def test_one_replica_at_a_time_sends_to_a_receiver(
    box: Outbox, other: Outbox, database: Database, clock: SettableClock
):
    """Until it yields, or its lease is over; another receiver is free meanwhile."""
    turn = await claimed(box)
    assert await other.claim("ops", LEASE) is None
    assert await other.claim("pager", LEASE) is not None

    await box.yield_turn(turn)
    second = await claimed(other)
    await pass_time(database, clock, LEASE * 2)
    third = await claimed(box)
    assert [each.fence for each in (turn, second, third)] == [1, 2, 3]


async def test_claims_at_once_have_one_winner(database: Database, clock: SettableClock):
    """Eight replicas that ask together: one gets the turn, nobody fails."""
    boxes = [Outbox(database, clock, f"replica-{number}") for number in range(8)]
    async with asyncio.TaskGroup() as group:
        claims = [group.create_task(box.claim("ops", LEASE)) for box in boxes]

    assert sum(claim.result() is not None for claim in claims) == 1


async def test_a_replica_that_lost_its_turn_may_write_nothing(
    box: Outbox, other: Outbox, database: Database, clock: SettableClock
):
    """A paused process that wakes up cannot settle what another one sends now; yielding is no fault."""
    await add(database, a_notice())
    turn = await claimed(box)
    await pass_time(database, clock, LEASE * 2)
    await claimed(other)

    for late in (
        box.due(turn),
        box.settle_sent(turn, (1,), "m", "HTTP 200"),
        box.settle_refused(turn, (1,), "m", "HTTP 400"),
        box.settle_later(turn, (1,), "HTTP 500", LEASE),
        box.settle_refreshed(turn),
    ):
        with pytest.raises(LeaseLostError):
            await late
    await box.yield_turn(turn)
    assert await box.claim("ops", LEASE) is None
    assert (await row(database)).attempts == 0


async def test_every_step_renews_the_turn(box: Outbox, other: Outbox, database: Database, clock: SettableClock):
    """A long series of slow messages keeps its turn."""
    turn = await claimed(box)
    for _ in range(5):
        await pass_time(database, clock, LEASE * 0.7)
        assert await other.claim("ops", LEASE) is None
        await box.due(turn)


async def test_a_clock_that_stepped_back_blocks_nobody(database: Database, clock: SettableClock, box: Outbox):
    """A lease or a pause that reaches further ahead than any could is over."""
    turn = await claimed(box)
    await box.settle_later(turn, (), "HTTP 500", dt.timedelta(minutes=5))
    await pass_time(database, clock, -dt.timedelta(hours=2))

    assert await Outbox(database, clock, "other").claim("ops", LEASE) is not None


async def test_a_receiver_is_left_alone_as_long_as_it_asked(box: Outbox, database: Database, clock: SettableClock):
    """A pause holds for all replicas, and at most an hour; a success ends it."""
    turn = await claimed(box)
    await box.settle_later(turn, (), "HTTP 429", dt.timedelta(days=9))
    await box.yield_turn(turn)
    assert await box.claim("ops", LEASE) is None

    await pass_time(database, clock, LONGEST_PAUSE)
    turn = await claimed(box)
    assert turn.failures == 1
    await box.settle_sent(turn, (), "m", "HTTP 200")
    await box.yield_turn(turn)
    assert (await claimed(box)).failures == 0


# --- what is due ----------------------------------------------------------------------------------------------------


async def test_each_subject_keeps_its_order_and_fresh_ones_come_first(box: Outbox, database: Database):
    """What fails again and again holds up its own issue, and no other."""
    await add(
        database,
        a_notice(event_id="a1", fingerprint="a"),
        a_notice(event_id="b1", fingerprint="b"),
        a_notice(IssueChange.CLOSED, event_id="a2", fingerprint="a"),
        a_notice(event_id="c1", fingerprint="c"),
    )
    turn = await claimed(box)
    waiting = await box.due(turn)
    assert [each.notice.event_id for each in waiting] == ["a1", "b1", "a2", "c1"]
    assert waiting[0].notice == a_notice(event_id="a1", fingerprint="a")

    await box.settle_later(turn, (waiting[0].row_id,), "HTTP 500", dt.timedelta())
    assert await events(box, turn) == ["b1", "c1", "a1", "a2"]


async def test_what_is_settled_is_no_longer_due(box: Outbox, database: Database):
    """Taken or refused for good: neither comes again, and others' notices are none of ours."""
    await add(database, a_notice(event_id="a"), a_notice(event_id="b", fingerprint="b"))
    await add(database, a_notice(event_id="elsewhere"), receiver="pager")
    turn = await claimed(box)
    first, second = await box.due(turn)

    await box.settle_sent(turn, (first.row_id,), "a", "HTTP 200")
    await box.settle_refused(turn, (second.row_id,), "b", "HTTP 400")
    assert await events(box, turn) == []
    assert [(each.receiver, each.pending, each.failed) for each in await box.backlog()] == [
        ("ops", 0, 1),
        ("pager", 1, 0),
    ]


async def test_notices_refused_together_go_out_alone(box: Outbox, database: Database):
    """One bad notice of a digest must not take the others with it."""
    await add(database, a_notice(event_id="a"), a_notice(event_id="b", fingerprint="b"))
    turn = await claimed(box)
    waiting = await box.due(turn)
    assert not any(each.is_alone for each in waiting)

    await box.settle_apart(turn, tuple(each.row_id for each in waiting))
    assert all(each.is_alone for each in await box.due(turn))


async def test_a_notice_of_a_newer_version_holds_up_its_subject_only(box: Outbox, database: Database):
    """During an upgrade the older replica leaves alone what it cannot read, and what comes after it."""
    await add(
        database,
        a_notice(event_id="a1", fingerprint="a"),
        a_notice(event_id="a2", fingerprint="a"),
        a_notice(event_id="b1", fingerprint="b"),
    )
    async with database.begin() as connection:
        strange = sa.update(notices).where(notices.c.event_id == "a1").values(facts={"kind": "poem"})
        await connection.execute(strange)

    assert await events(box, await claimed(box)) == ["b1"]


async def test_messages_of_the_last_minute_are_counted_once_each(
    box: Outbox, other: Outbox, database: Database, clock: SettableClock
):
    """A digest is one message, whoever sent it, and so is one that was refused; what is older counts no more."""
    await add(database, *(a_notice(event_id=f"e{number}", fingerprint=f"{number}") for number in range(5)))
    turn = await claimed(box)
    rows = [each.row_id for each in await box.due(turn)]
    await box.settle_sent(turn, (rows[0],), "e0", "HTTP 200")
    clock.advance(30)
    await box.settle_sent(turn, tuple(rows[1:4]), "e1", "HTTP 200")
    await box.settle_refused(turn, (rows[4],), "e4", "HTTP 400")
    assert await other.sent_lately(turn) == 3

    clock.advance(31)
    assert await box.sent_lately(turn) == 2


# --- keeping house --------------------------------------------------------------------------------------------------


async def test_what_nobody_takes_is_given_up_in_the_end_and_stays_visible(
    box: Outbox, database: Database, clock: SettableClock
):
    """After the stated time, also for a receiver that nobody sends to any more."""
    await add(database, a_notice())
    clock.date += GIVE_UP_AFTER - (clock.now() - a_notice().at) - dt.timedelta(seconds=1)
    assert await box.give_up_old() == 0
    (backlog,) = await box.backlog()
    assert (backlog.pending, backlog.oldest_at) == (1, a_notice().at)

    clock.advance(1)
    assert await box.give_up_old() == 1
    (backlog,) = await box.backlog()
    assert (backlog.pending, backlog.failed, backlog.oldest_at) == (0, 1, None)
    assert (await row(database)).failed_at == clock.now()


async def test_the_outbox_does_not_grow_for_ever(box: Outbox, database: Database, clock: SettableClock):
    """What was told is forgotten after a week, what was given up after 90 days, what waits never."""
    await add(database, *(a_notice(event_id=name, fingerprint=name) for name in ("sent", "failed", "waiting")))
    turn = await claimed(box)
    sent, failed, _ = (each.row_id for each in await box.due(turn))
    await box.settle_sent(turn, (sent,), "sent", "HTTP 200")
    await box.settle_refused(turn, (failed,), "failed", "HTTP 400")

    clock.date += KEEP_SENT - dt.timedelta(seconds=1)
    assert await box.prune() == 0
    clock.advance(1)
    assert await box.prune() == 1
    clock.date += KEEP_FAILED - KEEP_SENT
    assert await box.prune() == 1
    assert (await row(database)).event_id == "waiting"


async def test_answers_are_kept_short(box: Outbox, database: Database):
    """The last answer is ours, bounded, and counted."""
    await add(database, a_notice())
    turn = await claimed(box)
    await box.settle_later(turn, (1,), "no connection " * 100, LEASE)

    stored = await row(database)
    assert (stored.attempts, len(stored.last_answer), stored.sent_at) == (1, 200, None)
