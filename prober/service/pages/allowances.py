"""What may still be spent, in words."""

import dataclasses
import datetime as dt
from collections.abc import Iterable

from prober.domain.budget import MICROS, Standing, Unit


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """One cap, told."""

    words: str
    """`12,000 of 50,000 tokens left this hour`."""
    share: float
    """Of the cap that is left, 0 to 1."""
    frees_at: dt.datetime
    is_of_all: bool
    """All targets share it."""
    tenant: str | None


def tightest(standings: Iterable[Standing], target: str, currency: str) -> Allowance | None:
    """Tell the cap that bounds a target and has least left; None where nothing does."""
    bounding = [standing for standing in standings if standing.cap.target in {None, target}]
    told = [allowance_of(standing, currency) for standing in bounding]
    return min(told, key=lambda allowance: allowance.share, default=None)


def allowance_of(standing: Standing, currency: str) -> Allowance:
    """Tell one."""
    cap = standing.cap
    amounts = (_amount(standing.left, cap.unit, ""), _amount(cap.limit, cap.unit, currency))
    return Allowance(
        words=f"{amounts[0]} of {amounts[1]} left this {cap.window.value}",
        share=standing.left / cap.limit if cap.limit else 0.0,
        frees_at=standing.frees_at,
        is_of_all=cap.target is None,
        tenant=standing.tenant,
    )


def _amount(amount: int, unit: Unit, currency: str) -> str:
    if unit is Unit.MONEY:
        return f"{amount / MICROS:,.2f} {currency}".rstrip()
    return f"{amount:,} {unit.value}" if currency else f"{amount:,}"
