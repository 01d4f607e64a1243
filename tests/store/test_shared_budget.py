"""The runner's budget over the real book: priced, shared by targets and replicas, and shown."""

import dataclasses
from collections.abc import Sequence

import pytest

from prober.domain.budget import Cap, Expense, Price, Reservation, Standing, Unit, Window
from prober.domain.verdict import Spending
from prober.store.database import Database
from prober.store.shared_budget import SharedBudget, Unwatched
from prober.store.spending import SpendingBook
from tests.support.ledger import SettableClock
from tests.support.reports import a_campaign, a_run

MONEY = Cap(window=Window.DAY, unit=Unit.MONEY, limit=5_000_000)
EACH = Cap(window=Window.HOUR, unit=Unit.REQUESTS, limit=3, target="staging", is_per_tenant=True)
MILLION = Spending(requests=1, prompt_tokens=1_000_000)


@dataclasses.dataclass
class Watcher:
    """Keeps what it is told."""

    expenses: list[tuple[str, str, Expense]] = dataclasses.field(default_factory=list)
    shown: list[Sequence[Standing]] = dataclasses.field(default_factory=list)

    def spent(self, target: str, tenant: str, expense: Expense) -> None:
        self.expenses.append((target, tenant, expense))

    def standings(self, shown: Sequence[Standing]) -> None:
        self.shown.append(shown)

    @property
    def left(self) -> dict[tuple[Unit, str | None], int]:
        return {(standing.cap.unit, standing.tenant): standing.left for standing in self.shown[-1]}


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


@pytest.fixture
def budget(database: Database, clock: SettableClock, watcher: Watcher) -> SharedBudget:
    return SharedBudget(
        SpendingBook(database, clock),
        caps=[MONEY, EACH],
        prices={"staging": Price(prompt=2.0, output=8.0), "dear": Price(prompt=1_000.0)},
        tenants={"staging": ["alpha", "bravo"], "dear": ["alpha"]},
        clock=clock,
        watcher=watcher,
    )


async def test_money_of_all_targets_is_one_budget(budget: SharedBudget):
    """Each target's tokens at its own price; a wave whose price would pass the day's money is refused."""
    run = a_run()
    assert isinstance(await budget.reserve(run, {"alpha": MILLION}), Reservation)
    assert isinstance(await budget.reserve(run, {"alpha": MILLION}), Reservation)

    (short,) = await budget.shortages(run, {"bravo": MILLION})
    assert (short.standing.left, short.wanted) == (1_000_000, 2_000_000)
    assert await budget.would_pass("dear", {"alpha": Spending(requests=1, prompt_tokens=1_000)}) == ()
    (other,) = await budget.would_pass("dear", {"alpha": Spending(requests=1, prompt_tokens=1_001)})
    assert other.standing.cap == MONEY
    refused = await budget.reserve(run, {"bravo": MILLION})
    assert isinstance(refused, tuple)


async def test_a_target_without_prices_costs_nothing(budget: SharedBudget):
    """Tokens and requests are bounded all the same."""
    campaign = a_campaign()
    free = a_run(campaign=dataclasses.replace(campaign, target=dataclasses.replace(campaign.target, name="free")))
    for _ in range(5):
        assert isinstance(await budget.reserve(free, {"alpha": MILLION}), Reservation)


async def test_the_watcher_hears_what_was_really_spent_and_what_is_left(
    budget: SharedBudget, watcher: Watcher, clock: SettableClock
):
    """After the reservation the most it can cost is gone from the budget; after its settlement what it did cost."""
    reservation = await budget.reserve(a_run(), {"alpha": MILLION, "bravo": MILLION})
    assert isinstance(reservation, Reservation)
    assert watcher.expenses == []
    assert watcher.left == {(Unit.MONEY, None): 1_000_000, (Unit.REQUESTS, "alpha"): 2, (Unit.REQUESTS, "bravo"): 2}

    half = Spending(requests=1, prompt_tokens=500_000)
    await budget.settle(reservation, {"alpha": half, "bravo": Spending(requests=1)})

    assert watcher.expenses == [
        ("staging", "alpha", Expense(spending=half, micros=1_000_000)),
        ("staging", "bravo", Expense(spending=Spending(requests=1))),
    ]
    assert watcher.left[Unit.MONEY, None] == 4_000_000
    clock.advance(3_600)
    await budget.refresh()
    assert watcher.left == {(Unit.MONEY, None): 4_000_000, (Unit.REQUESTS, "alpha"): 3, (Unit.REQUESTS, "bravo"): 3}


async def test_replicas_see_each_others_spending(
    budget: SharedBudget, watcher: Watcher, database: Database, clock: SettableClock
):
    """What is left is shown for all replicas together."""
    other = SharedBudget(
        SpendingBook(database, clock),
        caps=[MONEY],
        prices={"staging": Price(prompt=3.0)},
        tenants={"staging": ["alpha"]},
        clock=clock,
        watcher=Unwatched(),
    )
    reservation = await other.reserve(a_run(), {"alpha": MILLION})
    assert isinstance(reservation, Reservation)
    await other.settle(reservation, {"alpha": MILLION})

    await budget.refresh()

    assert watcher.left[Unit.MONEY, None] == 2_000_000


async def test_without_caps_spending_is_booked_and_nothing_is_shown(
    database: Database, clock: SettableClock, watcher: Watcher
):
    """A cap that is set tomorrow finds what was spent today."""
    book = SpendingBook(database, clock)
    budget = SharedBudget(book, caps=[], prices={}, tenants={}, clock=clock, watcher=watcher)
    await budget.reserve(a_run(), {"alpha": MILLION})

    assert [entry.expense.spending for entry in await book.entries()] == [MILLION]
    assert watcher.shown == []
