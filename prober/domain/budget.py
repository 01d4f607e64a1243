"""Caps on what probing may cost by the hour and the day, and what a call that would pass one of them lacks."""

import dataclasses
import datetime as dt
import enum
import math
from collections.abc import Mapping
from typing import Final

from prober.domain.verdict import Spending

MICROS: Final = 1_000_000
"""Money is counted in whole millionths of the currency's unit: sums are exact, and many replicas may add to them."""

_FLOAT_NOISE_DIGITS = 6


class Window(enum.Enum):
    """Calendar windows in UTC: each begins on the hour or at midnight, as providers bill, and frees up at once."""

    HOUR = "hour"
    DAY = "day"


class Unit(enum.Enum):
    """What a cap counts."""

    TOKENS = "tokens"
    """Prompt and answer tokens together."""
    REQUESTS = "requests"
    MONEY = "money"
    """Millionths of the currency's unit."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Expense:
    """What was, or at most will be, spent."""

    spending: Spending = dataclasses.field(default_factory=Spending)
    micros: int = 0
    """Money, in millionths of the currency's unit."""

    def of(self, unit: Unit) -> int:
        """Amount in one unit."""
        amounts = {Unit.TOKENS: self.spending.tokens, Unit.REQUESTS: self.spending.requests, Unit.MONEY: self.micros}
        return amounts[unit]

    def __add__(self, other: "Expense") -> "Expense":
        """Sum field by field."""
        return Expense(spending=self.spending + other.spending, micros=self.micros + other.micros)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Currency units per million tokens; both 0 where nothing is charged, or no price is known."""

    prompt: float = 0.0
    output: float = 0.0

    def expense(self, spending: Spending) -> Expense:
        """Price a spending; so many tokens at so much per million are as many millionths, rounded up."""
        exact = spending.prompt_tokens * self.prompt + spending.output_tokens * self.output
        return Expense(spending=spending, micros=math.ceil(round(exact, _FLOAT_NOISE_DIGITS)))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """Most that may be spent in one window."""

    window: Window
    unit: Unit
    limit: int
    """Tokens, requests, or millionths of the currency's unit."""
    target: str | None = None
    """None: all targets together."""
    is_per_tenant: bool = False
    """Each tenant has so much; else all tenants together."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How much of a cap is used, by one tenant where it is each tenant's own."""

    cap: Cap
    tenant: str | None
    """None: all tenants together."""
    spent: int
    frees_at: dt.datetime
    """When all of the cap is free again, should nothing more be spent; aware, UTC."""

    @property
    def left(self) -> int:
        """What may still be spent; 0 too where a cap was lowered below what is spent."""
        return max(0, self.cap.limit - self.spent)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """A cap that would be passed."""

    standing: Standing
    wanted: int
    """At most so much would be spent, in the cap's unit."""

    def __str__(self) -> str:
        """Say which cap, how much is left, and when it frees up, as the end of a sentence."""
        cap, standing = self.standing.cap, self.standing
        owner = "all targets" if cap.target is None else f"target {cap.target}"
        whose = owner if standing.tenant is None else f"tenant {standing.tenant} on {owner}"
        needs = f"{_amount(cap.unit, standing.left)} left, up to {_amount(cap.unit, self.wanted)} needed"
        if self.wanted > cap.limit:
            frees = "the cap is too small for it at any time"
        else:
            frees = f"it frees up at {standing.frees_at:%Y-%m-%d %H:%M} UTC"
        return (
            f"the cap of {_amount(cap.unit, cap.limit)} {cap.unit.value} per {cap.window.value} for {whose}: "
            f"{needs}; {frees}"
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Amounts counted before the calls that may spend them; what is never settled stays counted in full."""

    target: str
    hour: dt.datetime
    """The hour they are counted in, whenever they are settled."""
    expenses: Mapping[str, Expense]
    """By tenant: at most so much."""


def _amount(unit: Unit, amount: int) -> str:
    return money_words(amount) if unit is Unit.MONEY else f"{amount:,}"


def money_words(micros: int) -> str:
    """Money as people read it: cents, and more digits where there are less than ten cents."""
    return f"{micros / MICROS:,.2f}" if micros == 0 or micros >= MICROS // 10 else f"{micros / MICROS:.6f}".rstrip("0")
