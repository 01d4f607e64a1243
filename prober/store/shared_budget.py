"""The budget that all runs share: `runner.ports.Budget` over the book of spending."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from prober.domain.budget import Cap, Expense, Price, Reservation, Shortage, Standing
from prober.domain.campaign import Run
from prober.domain.errors import LedgerError
from prober.domain.verdict import Spending
from prober.plan.budgets import standings
from prober.runner.ports import Clock
from prober.store.spending import SpendingBook


class SpendingWatcher(Protocol):
    """Publishes what is spent. Must not raise."""

    def spent(self, target: str, tenant: str, expense: Expense) -> None:
        """Count what a tenant's calls really cost."""
        ...

    def standings(self, shown: Sequence[Standing]) -> None:
        """Show how much of every cap is used."""
        ...


class Unwatched:
    """Publishes nothing. Satisfies `SpendingWatcher`."""

    def spent(self, target: str, tenant: str, expense: Expense) -> None:
        """Keep it to itself."""

    def standings(self, shown: Sequence[Standing]) -> None:
        """Keep it to itself."""


class SharedBudget:
    """Caps and prices of one configuration over the book of all replicas. Raises LedgerError only.

    Args:
        book: what was spent, by whomever.
        caps: of all targets.
        prices: by target; one that is not there charges nothing.
        tenants: names by target, whose standing is shown.
        clock: says which hour it is.
        watcher: hears of everything.
    """

    def __init__(
        self,
        book: SpendingBook,
        *,
        caps: Sequence[Cap],
        prices: Mapping[str, Price],
        tenants: Mapping[str, Sequence[str]],
        clock: Clock,
        watcher: SpendingWatcher,
    ) -> None:
        self._book = book
        self._caps = tuple(caps)
        self._prices = dict(prices)
        self._tenants = dict(tenants)
        self._clock = clock
        self._watcher = watcher

    async def shortages(self, run: Run, wanted: Mapping[str, Spending]) -> tuple[Shortage, ...]:
        """Name the caps that spending so much, by tenant, would pass as things stand; nothing is counted."""
        target = run.campaign.target.name
        return await self.would_pass(target, wanted)

    async def would_pass(self, target: str, wanted: Mapping[str, Spending]) -> tuple[Shortage, ...]:
        """Likewise without a run, for an estimate."""
        return await self._book.shortages(target, self.priced(target, wanted), self._caps)

    async def reserve(self, run: Run, wanted: Mapping[str, Spending]) -> Reservation | tuple[Shortage, ...]:
        """Count what a wave can spend at most, by tenant, before it is sent; or count nothing and name the caps."""
        target = run.campaign.target.name
        answer = await self._book.reserve(target, self.priced(target, wanted), self._caps)
        await self._show()
        return answer

    async def settle(self, reservation: Reservation, spent: Mapping[str, Spending]) -> None:
        """Count what was really spent instead."""
        expenses = self.priced(reservation.target, spent)
        await self._book.settle(reservation, expenses)
        for tenant, expense in expenses.items():
            self._watcher.spent(reservation.target, tenant, expense)
        await self._show()

    async def _show(self) -> None:
        """Refresh behind what is booked by now: a caller who heard of a fault would book it a second time."""
        with contextlib.suppress(LedgerError):
            await self.refresh()

    async def refresh(self) -> None:
        """Show how much of every cap is used, by all replicas; to be called now and then, since windows end unasked."""
        if self._caps:
            self._watcher.standings(await self.standings())

    async def standings(self) -> tuple[Standing, ...]:
        """Tell how much of every cap is used now, by all replicas."""
        entries = await self._book.entries() if self._caps else ()
        return standings(self._caps, entries, self._tenants, self._clock.now())

    def priced(self, target: str, wanted: Mapping[str, Spending]) -> dict[str, Expense]:
        """Price spendings by tenant."""
        price = self._prices.get(target, Price())
        return {tenant: price.expense(spending) for tenant, spending in wanted.items()}
