"""`prober run --estimate`: what a run would send and cost, and whether the budgets would allow it now."""

from rich.console import Console

from prober.config.campaigns import caps
from prober.config.schema import Settings
from prober.domain.budget import Expense, money_words
from prober.domain.campaign import Campaign
from prober.plan.rehearsal import estimates
from prober.report.console import spending_words
from prober.wiring.prober import open_budget


async def print_estimate(console: Console, settings: Settings, campaign: Campaign) -> None:
    """Print the estimate, its price, and every cap that it would pass as things stand. Sends nothing, counts nothing.

    Raises:
        ConfigError: there are caps, and the database has not been brought to this version's schema.
        LedgerError: there are caps, and the database cannot be reached.
    """
    name = campaign.target.name
    wanted = estimates(campaign)
    async with open_budget(settings) as budget:
        total = sum(budget.priced(name, wanted).values(), Expense())
        cost = ""
        if settings.targets[name].prices is not None:
            cost = f", {money_words(total.micros)} {settings.budgets.currency}"
        _say(console, f"{name}: {spending_words(total.spending)}{cost}")
        objections = _own_caps(campaign, total)
        if caps(settings):
            objections += [f"would pass {shortage}" for shortage in await budget.would_pass(name, wanted)]
    for objection in objections:
        _say(console, f"  {objection}")
    if not objections:
        _say(console, "  within the run's caps and all budgets now")


def _own_caps(campaign: Campaign, total: Expense) -> list[str]:
    """Caps of the run by itself, which are kept wave by wave."""
    spending = total.spending
    own = (
        (spending.tokens, campaign.max_run_tokens, "tokens"),
        (spending.requests, campaign.max_run_requests, "requests"),
    )
    return [
        f"would pass the run's cap of {cap:,} {unit}" for amount, cap, unit in own if cap is not None and amount > cap
    ]


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
