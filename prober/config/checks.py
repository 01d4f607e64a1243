"""Rules that span several values, on sections that are sound by themselves."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from prober.config.budgets import OverallBudgetSettings, money_places
from prober.config.problems import Location
from prober.config.schema import TargetSettings, TenantSettings
from prober.detect.recall import least_output_tokens
from prober.domain.canary import TENANT_BITS
from prober.domain.target import RESERVED_TOKENS

MINIMUM_TENANTS = 2
LONGEST_PAUSE_MINUTES = 30
"""A probe of the whole context must be paid off within so long, or the one after it waits as if the prober hung."""

Objection = tuple[Location, str]
"""Where, below the section, and what."""


def target_objections(target: TargetSettings, base: Path) -> Iterator[Objection]:
    """Yield what does not fit together within one target, its tenants aside."""
    for name in ("prefill_pool_tokens", "decode_pool_tokens"):
        pool = getattr(target, name)
        if pool is not None and pool % target.page_tokens:
            yield (name,), f"must be a multiple of page_tokens ({target.page_tokens}): pools hold whole pages"
    if target.deadline_seconds < target.hang_seconds:
        yield ("deadline_seconds",), "must not be below hang_seconds"
    yield from _settings_objections(target)
    if target.scenarios is not None:
        yield from _scenario_objections(target.scenarios)
    yield from _file_objections(target, base)
    yield from _spending_objections(target)


def budget_objections(budgets: OverallBudgetSettings, targets: Mapping[str, TargetSettings]) -> Iterator[Objection]:
    """Yield caps on the money of all targets together that some target's tokens would never count towards."""
    without = [name for name, target in targets.items() if target.prices is None]
    if without:
        message = f"needs prices of every target; there are none of {', '.join(without)}"
        yield from (((*place,), message) for place in money_places(budgets))


def _spending_objections(target: TargetSettings) -> Iterator[Objection]:
    if target.prices is None:
        yield from ((("budgets", *place), "needs prices of this target") for place in money_places(target.budgets))
    for name in ("tokens_per_minute", "tenant_tokens_per_minute"):
        rate = getattr(target, name)
        if rate is not None and rate * LONGEST_PAUSE_MINUTES < target.context_tokens:
            message = (
                f"must be at least {-(-target.context_tokens // LONGEST_PAUSE_MINUTES)}: one prompt of the whole "
                f"context would stop everything behind it for more than {LONGEST_PAUSE_MINUTES} minutes"
            )
            yield (name,), message


def _settings_objections(target: TargetSettings) -> Iterator[Objection]:
    """Yield what would leave probes that every healthy target refuses, or that no answer can satisfy."""
    limit = min(target.context_tokens, target.prefill_pool_tokens or target.context_tokens) - RESERVED_TOKENS
    for name in ("baseline_tokens", "donor_tokens"):
        if (getattr(target.settings, name) or 0) >= limit:
            yield ("settings", name), f"must be below {limit}, the first length that the target must refuse"
    least = least_output_tokens(target.ask)
    if target.settings.over_limit_max_output_tokens < least:
        message = f"must be at least {least} where ask is {target.ask.value}: less leaves no room to recall anything"
        yield ("settings", "over_limit_max_output_tokens"), message


def tenant_objections(tenant: TenantSettings) -> Iterator[Objection]:
    """Yield what does not fit together within one tenant."""
    given = {name for name in ("credential", "credential_file") if getattr(tenant, name) is not None}
    if not given:
        yield (), "needs a credential or a credential_file"
    elif len(given) > 1:
        yield ("credential_file",), "stands beside credential; keep one of them"


def tenants_objections(tenants: Mapping[int, TenantSettings], listed: int) -> Iterator[Objection]:
    """Yield what does not fit together among one target's tenants; locations begin with an index.

    Args:
        tenants: the sound ones, by index, credentials resolved where they could be.
        listed: how many stand in the file, sound or not.
    """
    if listed < MINIMUM_TENANTS:
        yield (), "needs at least two tenants: with one there is nobody to leak to"
    yield from _repeated(tenants, "name", "is another tenant's name too")
    yield from _repeated(tenants, "number", "is another tenant's number too")
    yield from _repeated(
        tenants, "credential", "is another tenant's credential too: one account under two names proves nothing"
    )


def number_tenants(targets: Mapping[str, TargetSettings]) -> dict[str, TargetSettings]:
    """Give every tenant without a number the lowest free one, in the file's order.

    A name has one number in all targets, so that adding a target or a tenant at the end changes no other number.
    """
    fixed = {
        tenant.name: tenant.number
        for target in targets.values()
        for tenant in target.tenants
        if tenant.number is not None
    }
    free = iter(sorted(set(range(1, 1 << TENANT_BITS)) - set(fixed.values())))
    numbered: dict[str, TargetSettings] = {}
    for name, target in targets.items():
        tenants = []
        for tenant in target.tenants:
            if tenant.name not in fixed:
                fixed[tenant.name] = next(free)
            number = fixed[tenant.name] if tenant.number is None else tenant.number
            tenants.append(tenant.model_copy(update={"number": number}))
        numbered[name] = target.model_copy(update={"tenants": tuple(tenants)})
    return numbered


def number_objections(targets: Mapping[str, TargetSettings]) -> Iterator[Objection]:
    """Yield numbers given by hand that two names, in whatever targets, have in common."""
    owners: dict[int, str] = {}
    for target_name, target in targets.items():
        for index, tenant in enumerate(target.tenants):
            if tenant.number is None or owners.setdefault(tenant.number, tenant.name) == tenant.name:
                continue
            yield (target_name, "tenants", index, "number"), "is the number of a tenant of another name"


def _repeated(tenants: Mapping[int, TenantSettings], field: str, message: str) -> Iterator[Objection]:
    seen: set[object] = set()
    for index, tenant in tenants.items():
        value = getattr(tenant, field)
        if value is None:
            continue
        if value in seen:
            place = "credential_file" if field == "credential" and tenant.credential_file is not None else field
            yield (index, place), message
        seen.add(value)


def _scenario_objections(scenarios: tuple[str, ...]) -> Iterator[Objection]:
    if not scenarios:
        yield ("scenarios",), "is empty; leave it out to run all scenarios"
    for index, name in enumerate(scenarios):
        if name in scenarios[:index]:
            yield ("scenarios", index), "stands here twice"


def _file_objections(target: TargetSettings, base: Path) -> Iterator[Objection]:
    if (target.client_cert is None) != (target.client_key is None):
        present = "client_cert" if target.client_key is None else "client_key"
        yield (present,), "needs both client_cert and client_key"
    for name in ("ca_file", "client_cert", "client_key"):
        path = getattr(target, name)
        if path is not None and not _is_file(base / path):
            yield (name,), "is no file that can be found"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
