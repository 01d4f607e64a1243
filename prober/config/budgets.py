"""The configuration's sections `budgets` and `prices`: what may be spent, and what tokens cost."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from prober.config import rules
from prober.config.section import Section
from prober.domain.budget import MICROS, Cap, Unit, Window

Count = Annotated[int, Field(ge=1, le=1_000_000_000_000_000)]
Money = Annotated[float, Field(ge=0.000001, le=1_000_000_000, allow_inf_nan=False)]
PerMillion = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class WindowSettings(Section):
    """Most that may be spent in one window; what is left out is not bounded."""

    tokens: Count | None = None
    """Prompt and answer tokens together."""
    requests: Count | None = None
    """Requests sent."""
    money: Money | None = None
    """In the currency of the prices."""


class BudgetSettings(Section):
    """Caps by calendar window (UTC), for all tenants together and for each of them."""

    hour: WindowSettings = WindowSettings()
    """From the full hour on."""
    day: WindowSettings = WindowSettings()
    """From midnight UTC on."""
    tenant_hour: WindowSettings = WindowSettings()
    """Each tenant's own, from the full hour on."""
    tenant_day: WindowSettings = WindowSettings()
    """Each tenant's own, from midnight UTC on."""


class OverallBudgetSettings(BudgetSettings):
    """Caps on all targets together."""

    currency: Annotated[str, AfterValidator(rules.currency)] = "USD"
    """Shown beside money; nothing is converted."""


class PriceSettings(Section):
    """What a target charges."""

    prompt: PerMillion
    """For a million prompt tokens."""
    output: PerMillion
    """For a million answer tokens."""


SECTIONS = ("hour", "day", "tenant_hour", "tenant_day")


def caps_of(budgets: BudgetSettings, target: str | None = None) -> Iterator[Cap]:
    """Yield what is bounded by one section.

    Args:
        budgets: the section.
        target: whose it is; None: of all targets together.
    """
    for name in SECTIONS:
        settings: WindowSettings = getattr(budgets, name)
        limits = (
            (Unit.TOKENS, settings.tokens),
            (Unit.REQUESTS, settings.requests),
            (Unit.MONEY, None if settings.money is None else round(settings.money * MICROS)),
        )
        for unit, limit in limits:
            if limit is not None:
                yield Cap(
                    window=Window.HOUR if name.endswith("hour") else Window.DAY,
                    unit=unit,
                    limit=limit,
                    target=target,
                    is_per_tenant=name.startswith("tenant_"),
                )


def money_places(budgets: BudgetSettings) -> Iterator[tuple[str, str]]:
    """Yield where, within the section, money is bounded."""
    yield from ((name, "money") for name in SECTIONS if getattr(budgets, name).money is not None)
