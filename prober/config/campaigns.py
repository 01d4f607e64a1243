"""From a target's settings to the values that the layers below speak in. No address, no credential."""

from collections.abc import Mapping

from prober.config.schema import Settings, TargetSettings, TenantSettings
from prober.config.secret import Secret
from prober.domain.campaign import Campaign, ScenarioSettings
from prober.domain.errors import ConfigError
from prober.domain.target import PhysicalBound, Target
from prober.domain.tenant import Tenant


def campaign(settings: Settings, name: str) -> Campaign:
    """Build the campaign of one target, from settings as the loader returns them.

    Raises:
        ConfigError: there is no target of that name, or its tenants have no numbers.
    """
    target = _target(settings, name)
    return Campaign(
        target=_domain_target(name, target),
        tenants=tuple(_tenant(tenant) for tenant in target.tenants),
        scenarios=target.scenarios or (),
        settings=ScenarioSettings(**target.settings.model_dump()),
        max_run_tokens=target.max_run_tokens,
    )


def credentials(settings: Settings, name: str) -> Mapping[str, Secret]:
    """Look up the credentials of one target's tenants, by tenant name.

    Raises:
        ConfigError: there is no target of that name.
    """
    tenants = _target(settings, name).tenants
    return {tenant.name: tenant.credential for tenant in tenants if tenant.credential is not None}


def _target(settings: Settings, name: str) -> TargetSettings:
    try:
        return settings.targets[name]
    except KeyError:
        raise ConfigError(f"no such target; the configuration has {', '.join(settings.targets)}") from None


def _tenant(tenant: TenantSettings) -> Tenant:
    if tenant.number is None:
        raise ConfigError("tenants are numbered by the loader; these settings did not come from it")
    return Tenant(name=tenant.name, number=tenant.number)


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
