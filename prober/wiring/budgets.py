"""Settings -> what bounds runs together: budgets and token pacing."""

from collections.abc import Mapping

from prober.config.campaigns import caps, price
from prober.config.schema import Settings
from prober.endpoint.token_pacing import TokenPaces
from prober.store.database import Database
from prober.store.shared_budget import SharedBudget, SpendingWatcher
from prober.store.spending import SpendingBook
from prober.wiring.system import SystemClock


def paces_of(settings: Settings) -> dict[str, TokenPaces]:
    """Prepare the token pacing of every target."""
    return {
        name: TokenPaces(
            tokens_per_minute=target.tokens_per_minute,
            tenant_tokens_per_minute=target.tenant_tokens_per_minute,
            clock=SystemClock(),
        )
        for name, target in settings.targets.items()
    }


def paces_kept(before: Mapping[str, TokenPaces], old: Settings, new: Settings) -> dict[str, TokenPaces]:
    """Prepare the pacing of another configuration; a target whose rates are the same goes on with what it owes."""
    return {
        name: before[name] if name in before and _rates(old, name) == _rates(new, name) else prepared
        for name, prepared in paces_of(new).items()
    }


def _rates(settings: Settings, name: str) -> tuple[int | None, int | None]:
    target = settings.targets[name]
    return target.tokens_per_minute, target.tenant_tokens_per_minute


def budget_of(settings: Settings, database: Database, watcher: SpendingWatcher) -> SharedBudget:
    """Build the budget that all runs on this database share."""
    clock = SystemClock()
    return SharedBudget(
        SpendingBook(database, clock),
        caps=caps(settings),
        prices={name: price(settings, name) for name in settings.targets},
        tenants=tenants_of(settings),
        clock=clock,
        watcher=watcher,
    )


def tenants_of(settings: Settings) -> dict[str, list[str]]:
    """List the names of tenants by target."""
    return {name: [tenant.name for tenant in target.tenants] for name, target in settings.targets.items()}
