"""From a target's settings to the values that the layers below speak in. No address, no credential."""

import hashlib
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from prober.config.budgets import caps_of
from prober.config.schema import Settings, TargetSettings, TenantSettings
from prober.config.secret import Secret
from prober.domain.budget import Cap, Price
from prober.domain.campaign import Campaign, ScenarioSettings
from prober.domain.errors import ConfigError
from prober.domain.target import PhysicalBound, Target
from prober.domain.tenant import Tenant

_ACCOUNT_IN_PATH = re.compile(r"/accounts/([0-9a-fA-F]{32})(?:/|$)")
_ACCOUNT_HEADER = "openai-organization"


def campaign(settings: Settings, name: str) -> Campaign:
    """Build the campaign of one target, from settings as the loader returns them.

    Raises:
        ConfigError: there is no target of that name, or its tenants have no numbers.
    """
    target = _target(settings, name)
    return Campaign(
        target=_domain_target(name, target),
        tenants=tuple(_tenant(target, tenant) for tenant in target.tenants),
        scenarios=target.scenarios or (),
        settings=ScenarioSettings(**target.settings.model_dump()),
        max_run_tokens=target.max_run_tokens,
        max_run_requests=target.max_run_requests,
    )


def credentials(settings: Settings, name: str) -> Mapping[str, Secret]:
    """Look up the credentials of one target's tenants, by tenant name.

    Raises:
        ConfigError: there is no target of that name.
    """
    tenants = _target(settings, name).tenants
    return {tenant.name: tenant.credential for tenant in tenants if tenant.credential is not None}


def caps(settings: Settings) -> tuple[Cap, ...]:
    """List what is bounded by the hour and the day: of all targets together, then of each."""
    of_targets = (cap for name, target in settings.targets.items() for cap in caps_of(target.budgets, name))
    return (*caps_of(settings.budgets), *of_targets)


def price(settings: Settings, name: str) -> Price:
    """What a target charges; nothing where no prices stand there.

    Raises:
        ConfigError: there is no target of that name.
    """
    prices = _target(settings, name).prices
    return Price() if prices is None else Price(prompt=prices.prompt, output=prices.output)


def _target(settings: Settings, name: str) -> TargetSettings:
    try:
        return settings.targets[name]
    except KeyError:
        raise ConfigError(f"no such target; the configuration has {', '.join(settings.targets)}") from None


def _tenant(target: TargetSettings, tenant: TenantSettings) -> Tenant:
    if tenant.number is None:
        raise ConfigError("tenants are numbered by the loader; these settings did not come from it")
    return Tenant(name=tenant.name, number=tenant.number, account=_account(target, tenant))


def _account(target: TargetSettings, tenant: TenantSettings) -> str:
    """Digest of the account that the tenant's address, or a header of all requests, names; empty where none does.

    Cloudflare's account ids are 32 hexadecimal digits behind `/accounts/`; OpenAI's header `OpenAI-Organization` says
    which organisation is charged.
    """
    found = _ACCOUNT_IN_PATH.search(urlsplit(tenant.url or target.url).path)
    headers = [value.reveal() for name, value in target.headers.items() if name.lower() == _ACCOUNT_HEADER]
    named = [found.group(1).lower()] if found else headers
    return hashlib.sha256(named[0].encode()).hexdigest()[:16] if named else ""


def _domain_target(name: str, target: TargetSettings) -> Target:
    bound = target.physical_bound
    return Target(
        name=name,
        model=target.model,
        dialect=target.dialect,
        context_tokens=target.context_tokens,
        prefill_pool_tokens=target.prefill_pool_tokens,
        decode_pool_tokens=target.decode_pool_tokens,
        page_tokens=target.page_tokens,
        overlong=target.overlong,
        shared=target.shared,
        text_form=target.text_form,
        ask=target.ask,
        temperature=target.temperature,
        thinking=target.thinking,
        physical_bound=None if bound is None else PhysicalBound(**bound.model_dump()),
        hang_seconds=target.hang_seconds,
        build=target.build,
    )
