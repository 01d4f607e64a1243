"""Which caps would a call pass? Arithmetic on what was spent, hour by hour."""

import dataclasses
import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from prober.domain.budget import Cap, Expense, Shortage, Standing, Window

LENGTHS: Final[Mapping[Window, dt.timedelta]] = {Window.HOUR: dt.timedelta(hours=1), Window.DAY: dt.timedelta(days=1)}

MOST_AHEAD: Final = dt.timedelta(days=1)
"""Spending noted for later than now counts as well, up to so far ahead: a clock that was stepped back must not open a
budget that is used up. What lies farther ahead was noted under a clock that was wrong, and must not close one for
years."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What one tenant spent on one target, in one hour or several."""

    target: str
    tenant: str
    hour: dt.datetime
    """Beginning of the (latest) hour; aware, UTC."""
    expense: Expense


def hour_of(now: dt.datetime) -> dt.datetime:
    """Begin the hour that a date is in."""
    return begin(Window.HOUR, now)


def begin(window: Window, now: dt.datetime) -> dt.datetime:
    """Begin the window that a date is in: on the hour, or at midnight UTC."""
    hour = now.astimezone(dt.UTC).replace(minute=0, second=0, microsecond=0)
    return hour if window is Window.HOUR else hour.replace(hour=0)


def standings(
    caps: Iterable[Cap], entries: Sequence[Entry], tenants: Mapping[str, Sequence[str]], now: dt.datetime
) -> tuple[Standing, ...]:
    """Say how much of each cap is used now.

    Args:
        caps: caps, of all targets or of one.
        entries: everything noted since midnight UTC or later, hour by hour.
        tenants: names by target: whose standing with caps per tenant is asked for.
        now: aware date.
    """
    return tuple(_standing(cap, tenant, entries, now) for cap in caps for tenant in owners(cap, tenants))


def shortages(
    caps: Iterable[Cap], entries: Sequence[Entry], target: str, wanted: Mapping[str, Expense], now: dt.datetime
) -> tuple[Shortage, ...]:
    """Name every cap that would be passed, the one that frees up last first; nothing where all is within bounds.

    Args:
        caps: caps, of all targets or of any; those of other targets are passed over.
        entries: as for `standings`.
        target: which target is to be called.
        wanted: by tenant: what the calls spend at most.
        now: aware date.
    """
    found = []
    for standing in standings((cap for cap in caps if cap.target in {None, target}), entries, {target: [*wanted]}, now):
        amounts = [expense for tenant, expense in wanted.items() if standing.tenant in {None, tenant}]
        needed = sum(amounts, Expense()).of(standing.cap.unit)
        if needed > 0 and standing.spent + needed > standing.cap.limit:
            found.append(Shortage(standing=standing, wanted=needed))
    return tuple(sorted(found, key=lambda shortage: shortage.standing.frees_at, reverse=True))


def owners(cap: Cap, tenants: Mapping[str, Sequence[str]]) -> Iterator[str | None]:
    """Whose standing a cap has: None for all tenants together, else each tenant it bounds, given names by target."""
    if not cap.is_per_tenant:
        yield None
        return
    of_cap = (names for target, names in tenants.items() if cap.target in {None, target})
    yield from dict.fromkeys(name for names in of_cap for name in names)


def _standing(cap: Cap, tenant: str | None, entries: Sequence[Entry], now: dt.datetime) -> Standing:
    start = begin(cap.window, now)
    counted = [
        entry
        for entry in entries
        if start <= entry.hour <= now + MOST_AHEAD
        and cap.target in {None, entry.target}
        and tenant in {None, entry.tenant}
    ]
    latest = max((entry.hour for entry in counted), default=start)
    return Standing(
        cap=cap,
        tenant=tenant,
        spent=sum((entry.expense for entry in counted), Expense()).of(cap.unit),
        frees_at=begin(cap.window, max(latest, start)) + LENGTHS[cap.window],
    )
