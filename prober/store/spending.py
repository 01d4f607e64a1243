"""What probing has spent, and what it may still spend: one book for all replicas, kept in the database."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.budget import Cap, Expense, Reservation, Shortage, Window
from prober.domain.verdict import Spending
from prober.plan.budgets import MOST_AHEAD, Entry, begin, hour_of, shortages
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.schema.spending import spending

_LOCK: Final = 0x7370656E64
"""Key of the advisory lock under which reservations queue on PostgreSQL: two that read one sum would both pass."""

_AMOUNTS = ("requests", "prompt_tokens", "output_tokens", "micros")


class SpendingBook:
    """Reserves before calls and settles after them; each method is one transaction and raises LedgerError only.

    A reservation is counted as spent from the moment it is granted. Settling it takes off what was not used; a process
    that dies before leaves it counted in full, since nobody knows what the target made of it.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def reserve(
        self, target: str, wanted: Mapping[str, Expense], caps: Sequence[Cap] = ()
    ) -> Reservation | tuple[Shortage, ...]:
        """Count what calls spend at most, by tenant; or, should that pass any cap, count nothing and name those caps.

        Of any number of replicas that ask at once, no two are granted what only one of them may have.
        """
        now = self._clock.now()
        async with self._database.begin() as connection:
            await self._take_turn(connection)
            if caps:
                short = shortages(caps, await _entries(connection, now), target, wanted, now)
                if short:
                    return short
            reservation = Reservation(target=target, hour=hour_of(now), expenses=dict(wanted))
            for tenant, expense in sorted(wanted.items()):
                await _add(connection, reservation, tenant, _amounts(expense))
        return reservation

    async def settle(self, reservation: Reservation, spent: Mapping[str, Expense]) -> None:
        """Count what was really spent instead of what was reserved, in the hour of the reservation.

        A tenant that is not in `spent` spent nothing. More than was reserved counts as well.
        """
        async with self._database.begin() as connection:
            for tenant, reserved in sorted(reservation.expenses.items()):
                used, before = _amounts(spent.get(tenant, Expense())), _amounts(reserved)
                unused = {name: used[name] - before[name] for name in _AMOUNTS}
                if any(unused.values()):
                    await connection.execute(_addition(reservation, tenant, unused))

    async def shortages(self, target: str, wanted: Mapping[str, Expense], caps: Sequence[Cap]) -> tuple[Shortage, ...]:
        """Name the caps that `reserve` would refuse by, as things stand; nothing is counted."""
        if not caps:
            return ()
        return shortages(caps, await self.entries(), target, wanted, self._clock.now())

    async def entries(self) -> tuple[Entry, ...]:
        """List what counts today (UTC), of all targets."""
        async with self._database.read() as connection:
            return await _entries(connection, self._clock.now())

    async def hours(
        self, since: dt.datetime, *, target: str | None = None, tenant: str | None = None
    ) -> tuple[Entry, ...]:
        """List what was spent since an aware date, hour by hour, oldest first."""
        query = sa.select(spending).where(spending.c.hour >= hour_of(since)).order_by(*spending.primary_key)
        if target is not None:
            query = query.where(spending.c.target == target)
        if tenant is not None:
            query = query.where(spending.c.tenant == tenant)
        async with self._database.read() as connection:
            return tuple(map(_entry, await connection.execute(query)))

    async def prune(self, before: dt.datetime) -> int:
        """Forget hours before an aware date; of today and yesterday nothing is forgotten. Returns how many rows."""
        kept = begin(Window.DAY, self._clock.now()) - dt.timedelta(days=1)
        async with self._database.begin() as connection:
            done = await connection.execute(sa.delete(spending).where(spending.c.hour < min(before, kept)))
        return done.rowcount

    async def _take_turn(self, connection: AsyncConnection) -> None:
        """Wait for other reservations; a SQLite transaction that writes has the whole file from its beginning."""
        if self._database.kind == "postgresql":
            await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


async def _add(connection: AsyncConnection, reservation: Reservation, tenant: str, amounts: Mapping[str, int]) -> None:
    """Add to an hour's row, or begin it; only whoever has the turn may, since two would begin it twice."""
    added = await connection.execute(_addition(reservation, tenant, amounts))
    if not added.rowcount:
        key = {"hour": reservation.hour, "target": reservation.target, "tenant": tenant}
        await connection.execute(sa.insert(spending).values({**key, **amounts}))


def _addition(reservation: Reservation, tenant: str, amounts: Mapping[str, int]) -> sa.Update:
    return (
        sa.update(spending)
        .where(
            spending.c.hour == reservation.hour,
            spending.c.target == reservation.target,
            spending.c.tenant == tenant,
        )
        .values({name: spending.c[name] + amount for name, amount in amounts.items()})
    )


async def _entries(connection: AsyncConnection, now: dt.datetime) -> tuple[Entry, ...]:
    query = sa.select(spending).where(spending.c.hour >= begin(Window.DAY, now), spending.c.hour <= now + MOST_AHEAD)
    return tuple(map(_entry, await connection.execute(query)))


def _entry(row: sa.Row[Any]) -> Entry:
    spent = Spending(requests=row.requests, prompt_tokens=row.prompt_tokens, output_tokens=row.output_tokens)
    return Entry(
        target=row.target, tenant=row.tenant, hour=row.hour, expense=Expense(spending=spent, micros=row.micros)
    )


def _amounts(expense: Expense) -> dict[str, int]:
    spent = expense.spending
    figures: Iterable[int] = (spent.requests, spent.prompt_tokens, spent.output_tokens, expense.micros)
    return dict(zip(_AMOUNTS, figures, strict=True))
