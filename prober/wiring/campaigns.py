"""Settings -> what runs are made of: campaigns, connections, redaction."""

import dataclasses
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from prober.config import campaigns
from prober.config.loader import LoadedSettings, load_settings
from prober.config.schema import Settings, TargetSettings
from prober.config.vault import VaultSettings
from prober.domain.campaign import Campaign
from prober.domain.errors import ConfigError
from prober.endpoint.dialects import DIALECTS
from prober.endpoint.settings import DEFAULT_USER_AGENT, ConnectionSettings
from prober.plan.scenarios import SCENARIOS
from prober.telemetry.redaction import Redactor


def read_settings(path: pathlib.Path, environment: Mapping[str, str]) -> LoadedSettings:
    """Load a configuration file against the dialects and scenarios that exist.

    Raises:
        ConfigError: with every problem found.
    """
    return load_settings(path, environment, known_dialects=tuple(DIALECTS), known_scenarios=tuple(SCENARIOS))


def redactor_for(settings: Settings) -> Redactor:
    """Know every secret of the configuration, so that none can be logged."""
    return Redactor(_secrets_of(settings))


def hide_secrets(settings: Settings, redactor: Redactor) -> None:
    """Teach a redactor in use the secrets of another configuration too."""
    for secret in _secrets_of(settings):
        redactor.register(secret)


def _secrets_of(settings: Settings) -> Iterator[str]:
    yield settings.database.reveal()
    yield from _vault_secrets(settings.vault)
    for receiver in settings.notifications.values():
        if receiver.secret is not None:
            yield receiver.secret.reveal()
        if receiver.url is not None:
            yield from _parts_of(receiver.url.reveal())
    for target in settings.targets.values():
        yield from (tenant.credential.reveal() for tenant in target.tenants if tenant.credential is not None)
        yield from (value.reveal() for value in target.headers.values())
        if target.proxy is not None:
            yield target.proxy.reveal()


def _vault_secrets(vault: VaultSettings) -> Iterator[str]:
    if vault.key is not None:
        yield vault.key.reveal()
    if vault.keyring is not None:
        yield from (key.hex() for key in vault.keyring.keys.values())


_LEAST_SECRET = 12


def _parts_of(url: str) -> Iterator[str]:
    """An address that may hold a secret: itself, and what follows its host, as an error might quote it."""
    yield url
    parts = urlsplit(url)
    if parts.password:
        yield parts.password
    # A short one is no secret, and would take ordinary words out of every line.
    yield from (each for each in (parts.path.strip("/"), parts.query) if len(each) >= _LEAST_SECRET)


def campaign_of(
    settings: Settings, target: str, *, scenarios: Sequence[str] | None = None, max_run_tokens: int | None = None
) -> Campaign:
    """Build the campaign of one target; arguments that are given replace what is configured.

    Raises:
        ConfigError: no such target or scenario.
    """
    campaign = campaigns.campaign(settings, target)
    for name in scenarios or ():
        if name not in SCENARIOS:
            raise ConfigError(f"no scenario {name!r}; there are: {', '.join(SCENARIOS)}")
    return dataclasses.replace(
        campaign,
        scenarios=tuple(scenarios) if scenarios else campaign.scenarios,
        max_run_tokens=campaign.max_run_tokens if max_run_tokens is None else max_run_tokens,
    )


def connection_of(target: TargetSettings) -> ConnectionSettings:
    """Say how to reach a target.

    Raises:
        ConfigError: an address, header or bound that cannot work.
    """
    certificate = None
    if target.client_cert is not None:
        certificate = (str(target.client_cert), str(target.client_key or target.client_cert))
    return ConnectionSettings(
        base_url=target.url,
        proxy=target.proxy.reveal() if target.proxy is not None else None,
        ca_file=str(target.ca_file) if target.ca_file is not None else None,
        client_cert=certificate,
        extra_headers={name: value.reveal() for name, value in target.headers.items()},
        extra_body=target.body,
        session_header=target.session_header,
        user_agent=target.user_agent or DEFAULT_USER_AGENT,
        deadline_seconds=target.deadline_seconds,
        starts_per_period=target.starts_per_period,
        period_seconds=target.period_seconds,
        max_in_flight=target.max_in_flight,
    )
