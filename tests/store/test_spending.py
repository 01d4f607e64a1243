"""The book of spending, over SQLite and PostgreSQL."""

import asyncio
import dataclasses
import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from prober.domain.budget import Cap, Expense, Price, Reservation, Unit, Window
from prober.domain.errors import LedgerError
from prober.domain.verdict import Spending
from prober.plan.budgets import hour_of
from prober.store.database import Database
from prober.store.spending import SpendingBook
from tests.support.ledger import SettableClock
from tests.support.together import together

PRICE = Price(prompt=1.0, output=4.0)
HOURLY = Cap(window=Window.HOUR, unit=Unit.TOKENS, limit=1_000, target="glm")
DAILY = dataclasses.replace(HOURLY, window=Window.DAY, limit=1_500)
MINUTE = 60.0


def cost(prompt: int, output: int = 0, requests: int = 1) -> Expense:
    return PRICE.expense(Spending(requests=requests, prompt_tokens=prompt, output_tokens=output))


@pytest.fixture
def book(database: Database, clock: SettableClock) -> SpendingBook:
    return SpendingBook(database, clock)


@pytest.fixture
async def sibling(database: Database) -> AsyncIterator[Database]:
    """Open the same database anew, as another replica does, or this one after a restart."""
    other = Database(database._pool.url.render_as_string(hide_password=False))
    yield other
    await other.close()


async def granted(book: SpendingBook, caps: list[Cap], amount: int = 400, tenant: str = "alpha") -> bool:
    return isinstance(await book.reserve("glm", {tenant: cost(amount)}, caps), Reservation)


async def spent(book: SpendingBook) -> int:
    return sum(entry.expense.spending.tokens for entry in await book.entries())


async def test_a_reservation_counts_at_once_and_its_settlement_instead_of_it(book: SpendingBook):
    """Before the call the most it can cost, after it what it did cost; by tenant, in all units."""
    reservation = await book.reserve("glm", {"alpha": cost(300, 100), "bravo": cost(50)})
    assert isinstance(reservation, Reservation)
    assert await spent(book) == 450

    await book.settle(reservation, {"alpha": cost(310, 20)})

    (alpha, bravo) = sorted(await book.entries(), key=lambda entry: entry.tenant)
    assert alpha.expense == cost(310, 20)
    assert bravo.expense == Expense()


async def test_what_would_pass_a_cap_is_refused_before_and_counts_nothing(book: SpendingBook):
    """The hard stop: a wave of two tenants is granted as a whole or not at all."""
    assert await granted(book, [HOURLY], 700)

    short = await book.reserve("glm", {"alpha": cost(200), "bravo": cost(101)}, [HOURLY])

    assert isinstance(short, tuple)
    assert [(each.standing.cap, each.standing.left, each.wanted) for each in short] == [(HOURLY, 300, 301)]
    assert await spent(book) == 700
    assert await granted(book, [HOURLY], 300)


async def test_asking_counts_nothing(book: SpendingBook):
    """An estimate may be asked for as often as one likes; without caps the database is not even read."""
    assert await granted(book, [], 900)
    assert await book.shortages("glm", {"alpha": cost(100)}, [HOURLY]) == ()
    assert len(await book.shortages("glm", {"alpha": cost(101)}, [HOURLY])) == 1
    assert await book.shortages("glm", {"alpha": cost(101)}, []) == ()
    assert await spent(book) == 900


async def test_a_process_that_dies_leaves_its_reservation_counted(
    book: SpendingBook, sibling: Database, clock: SettableClock
):
    """Nobody knows what the target made of the calls, so that the next process must not spend the same again."""
    assert await granted(book, [HOURLY], 800)

    restarted = SpendingBook(sibling, clock)

    assert not await granted(restarted, [HOURLY], 201)
    assert await granted(restarted, [HOURLY], 200)


async def test_replicas_that_ask_at_once_never_get_more_than_the_cap(
    book: SpendingBook, sibling: Database, clock: SettableClock
):
    """Twenty askers over two pools, room for ten: exactly ten are granted, and the book says so."""
    cap = dataclasses.replace(HOURLY, limit=4_000)
    books = [book, SpendingBook(sibling, clock)]
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        asked = [
            group.create_task(granted(books[number % 2], [cap], 400, tenant=f"tenant-{number % 3}"))
            for number in range(20)
        ]

    assert sum(task.result() for task in asked) == 10
    assert await spent(book) == 4_000


async def test_a_server_that_isolates_more_by_default_lets_no_cap_be_passed(
    postgres_database: Database, clock: SettableClock
):
    """Whoever waited for its turn sees what the others were granted, whatever `default_transaction_isolation` is."""
    async with postgres_database.begin() as connection:
        name = (await connection.execute(sa.select(sa.func.current_database()))).scalar_one()
        await connection.execute(sa.text(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"))
    await postgres_database.close()
    book = SpendingBook(postgres_database, clock)
    overall = dataclasses.replace(HOURLY, target=None)

    asked = await together(granted(book, [overall], 600, tenant=f"tenant-{number}") for number in range(8))
    assert sum(asked) == 1


async def test_reservations_and_settlements_at_once_lose_nothing(
    book: SpendingBook, sibling: Database, clock: SettableClock
):
    """Waves of the same tenants, in any order of names, neither wait for each other for ever nor overwrite a sum."""
    books = [book, SpendingBook(sibling, clock)]

    async def wave(number: int) -> None:
        names = ["alpha", "bravo"] if number % 2 else ["bravo", "alpha"]
        mine = books[number % 2]
        reservation = await mine.reserve(
            "glm", {name: cost(100) for name in names}, [HOURLY] if number % 3 == 0 else []
        )
        if isinstance(reservation, Reservation):
            await mine.settle(reservation, {name: cost(7, 3) for name in names})

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number in range(24):
            group.create_task(wave(number))

    entries = await book.entries()
    requests = sum(entry.expense.spending.requests for entry in entries)
    assert requests >= 2 * 16
    assert await spent(book) == 10 * requests
    assert sum(entry.expense.micros for entry in entries) == requests * cost(7, 3).micros


@pytest.mark.parametrize("cap", [HOURLY, DAILY])
async def test_a_window_s_border_frees_its_cap_for_every_replica(
    book: SpendingBook, sibling: Database, clock: SettableClock, cap: Cap
):
    """Up to the border nothing, from the border on all of it."""
    clock.date = clock.date.replace(hour=23, minute=59, second=59)
    other = SpendingBook(sibling, clock)
    assert await granted(book, [cap], cap.limit)
    assert not await granted(other, [cap], 1)

    clock.advance(1)

    assert await granted(other, [cap], cap.limit)
    assert not await granted(book, [cap], 1)


@pytest.mark.parametrize("hour", [12, 0])
async def test_a_clock_stepped_back_an_hour_does_not_spend_the_hour_twice(
    book: SpendingBook, clock: SettableClock, hour: int
):
    """Before and after the step, and once the time is reached again: one cap; at midnight as well."""
    clock.date = clock.date.replace(hour=hour, minute=30)
    assert await granted(book, [HOURLY, DAILY], 1_000)

    clock.date -= dt.timedelta(hours=1)
    assert not await granted(book, [HOURLY], 1)
    clock.advance(60 * MINUTE)
    assert not await granted(book, [HOURLY], 1)
    clock.advance(30 * MINUTE)
    assert await granted(book, [HOURLY, DAILY], 500)
    assert not await granted(book, [DAILY], 1)


async def test_what_is_settled_late_counts_where_it_was_reserved(book: SpendingBook, clock: SettableClock):
    """A probe across the border belongs to one hour only."""
    clock.date = clock.date.replace(minute=59)
    reservation = await book.reserve("glm", {"alpha": cost(900)}, [HOURLY])
    assert isinstance(reservation, Reservation)
    clock.advance(2 * MINUTE)

    await book.settle(reservation, {"alpha": cost(850)})

    (entry,) = await book.hours(clock.now() - dt.timedelta(hours=1))
    assert (entry.hour, entry.expense) == (reservation.hour, cost(850))
    assert await granted(book, [HOURLY], 1_000)


async def test_more_than_was_reserved_counts_as_well(book: SpendingBook):
    """A target that counts otherwise than planned is charged as it counts; what is left is nothing then, not less."""
    reservation = await book.reserve("glm", {"alpha": cost(900)}, [HOURLY])
    assert isinstance(reservation, Reservation)
    await book.settle(reservation, {"alpha": cost(1_200)})

    short = await book.reserve("glm", {"alpha": cost(1)}, [HOURLY])

    assert isinstance(short, tuple)
    assert (short[0].standing.spent, short[0].standing.left) == (1_200, 0)


async def test_history_is_told_by_target_tenant_and_hour(book: SpendingBook, clock: SettableClock):
    """Who spent what, when: oldest first, from the hour of the date on."""
    start = clock.now()
    for target, tenant in (("glm", "alpha"), ("kimi", "alpha"), ("glm", "bravo")):
        await book.reserve(target, {tenant: cost(10)})
        clock.advance(60 * MINUTE)

    everything = await book.hours(start + dt.timedelta(minutes=59))
    assert [(each.target, each.tenant) for each in everything] == [
        ("glm", "alpha"),
        ("kimi", "alpha"),
        ("glm", "bravo"),
    ]
    assert [each.hour for each in everything] == [hour_of(start) + dt.timedelta(hours=n) for n in range(3)]
    assert [each.tenant for each in await book.hours(start, target="glm")] == ["alpha", "bravo"]
    assert [each.target for each in await book.hours(start, tenant="alpha")] == ["glm", "kimi"]
    assert [each.target for each in await book.hours(start + dt.timedelta(hours=1), target="kimi")] == ["kimi"]


async def test_old_hours_can_be_forgotten_but_none_that_counts(book: SpendingBook, clock: SettableClock):
    """Pruning bounds the table, and opens no budget: today and yesterday stay, whatever is asked for."""
    start = clock.now()
    for _ in range(5):
        await book.reserve("glm", {"alpha": cost(10)}, [HOURLY])
        clock.advance(24 * 60 * MINUTE)

    assert await book.prune(start + dt.timedelta(days=1)) == 1
    assert await book.prune(clock.now() + dt.timedelta(days=99)) == 3
    assert len(await book.hours(start)) == 1


async def test_a_pruned_reservation_can_still_be_settled(book: SpendingBook, clock: SettableClock):
    """A run that slept for days finds its hour forgotten: there is nothing to correct, and nothing fails."""
    reservation = await book.reserve("glm", {"alpha": cost(10)})
    assert isinstance(reservation, Reservation)
    clock.advance(10 * 24 * 60 * MINUTE)
    await book.prune(clock.now())

    await book.settle(reservation, {"alpha": cost(5)})

    assert await book.hours(reservation.hour) == ()


async def test_a_database_that_is_gone_is_told_in_our_words(tmp_path: Path, clock: SettableClock):
    """No grant without a book: the fault is raised, never taken for leave to spend."""
    database = Database(f"sqlite:///{tmp_path / 'missing' / 'x.db'}")
    try:
        with pytest.raises(LedgerError, match="cannot be opened"):
            await SpendingBook(database, clock).reserve("glm", {"alpha": cost(1)}, [HOURLY])
    finally:
        await database.close()
