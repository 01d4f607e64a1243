"""Settings as the values of the layers below."""

from pathlib import Path

import pytest

from prober.config.campaigns import campaign, credentials
from prober.config.loader import LoadedSettings, load_settings
from prober.config.schema import Settings, TargetSettings, TenantSettings
from prober.config.secret import Secret
from prober.domain.errors import ConfigError
from prober.domain.target import OverlongContract, PhysicalBound, TextForm
from prober.domain.tenant import Tenant

SECRET = "sk-live-9f8E7d6C5b4A"
TEXT = f"""\
version: 1
key_file: canary.key
database: postgresql://u:{SECRET}@db/x
targets:
  glm:
    url: https://api.example/v1
    dialect: openai-chat
    model: glm-5.3
    context_tokens: 8192
    prefill_pool_tokens: 2048
    decode_pool_tokens: 4096
    overlong: truncate
    text_form: numbered_lines
    shared: false
    thinking: true
    temperature: 0.5
    build: b7
    hang_seconds: 10
    deadline_seconds: 20
    max_run_tokens: 99
    proxy: http://u:{SECRET}@proxy.example
    physical_bound: {{active_parameters: 32e9, gpus: 8, peak_flops_per_gpu: 2e15}}
    headers: {{x-secret: {SECRET}}}
    body: {{user: {SECRET}, nothing: null}}
    tenants:
      - {{name: alpha, number: 7, credential: {SECRET}}}
      - {{name: bravo, credential: {SECRET}-b}}
    scenarios: [baseline]
    settings: {{over_limit_probes: 3, sweep_bisect: false}}
"""


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedSettings:
    path = tmp_path / "prober.yaml"
    path.write_text(TEXT)
    return load_settings(path, {}, known_dialects=["openai-chat"], known_scenarios=["baseline", "limit_sweep"])


def test_campaign_carries_every_setting_that_the_layers_below_know(loaded: LoadedSettings):
    """No figure gets lost between the file and the run."""
    built = campaign(loaded.settings, "glm")
    target = built.target
    assert (target.name, target.model, target.dialect, target.build) == ("glm", "glm-5.3", "openai-chat", "b7")
    assert (target.context_tokens, target.prefill_pool_tokens, target.decode_pool_tokens) == (8192, 2048, 4096)
    assert (target.overlong, target.text_form) == (OverlongContract.TRUNCATE, TextForm.NUMBERED_LINES)
    assert (target.shared, target.thinking, target.temperature, target.hang_seconds) == (False, True, 0.5, 10.0)
    assert target.page_tokens == 64
    assert target.physical_bound == PhysicalBound(active_parameters=32e9, gpus=8, peak_flops_per_gpu=2e15)
    assert built.tenants == (Tenant(name="alpha", number=7), Tenant(name="bravo", number=1))
    assert built.scenarios == ("baseline",)
    assert built.max_run_tokens == 99
    assert (built.settings.over_limit_probes, built.settings.sweep_bisect) == (3, False)


@pytest.mark.parametrize(
    ("changes", "own", "are_one"),
    [
        ({}, None, None),
        ({"url": f"https://api.example/v4/accounts/{'A1' * 16}"}, None, True),
        ({"url": f"https://api.example/v4/accounts/{'A1' * 16}"}, f"https://api.example/accounts/{'a1' * 16}/x", True),
        ({"url": f"https://api.example/v4/accounts/{'a1' * 16}"}, f"https://api.example/accounts/{'b2' * 16}", False),
        ({"url": "https://api.example/accounts/lab"}, None, None),
        ({"headers": {"OpenAI-Organization": Secret("org-1")}}, None, True),
    ],
)
def test_the_account_that_configuration_names_is_known_by_its_digest(
    *, loaded: LoadedSettings, changes: dict[str, object], own: str | None, are_one: bool | None
):
    """In the address, or in a header of all requests; None: it names no account. The account itself goes nowhere."""
    target = loaded.settings.targets["glm"]
    alpha, bravo = target.tenants
    tenants = (alpha, bravo.model_copy(update={"url": own}))
    settings = loaded.settings.model_copy(
        update={"targets": {"glm": target.model_copy(update={"headers": {}, "tenants": tenants, **changes})}}
    )

    first, second = (tenant.account for tenant in campaign(settings, "glm").tenants)

    assert (None if not first and not second else first == second) is are_one
    assert all(len(account) in {0, 16} for account in (first, second))
    assert "a1a1" not in first.lower() + second
    assert "org-1" not in first + second


def test_credentials_are_looked_up_by_tenant(loaded: LoadedSettings):
    """Each tenant has its own secret, still wrapped."""
    found = credentials(loaded.settings, "glm")
    assert {name: secret.reveal() for name, secret in found.items()} == {"alpha": SECRET, "bravo": f"{SECRET}-b"}
    assert SECRET not in repr(found)


def test_unknown_target_is_a_configuration_error(loaded: LoadedSettings):
    """The message names the targets there are."""
    with pytest.raises(ConfigError, match="no such target; the configuration has glm"):
        campaign(loaded.settings, "kimi")


def test_settings_that_skipped_the_loader_are_refused():
    """A tenant without a number must not silently become tenant 0."""
    target = TargetSettings(
        url="https://api.example/v1",
        dialect="d",
        model="m",
        context_tokens=8192,
        tenants=(TenantSettings(name="alpha", credential=Secret(SECRET)),),
    )
    settings = Settings.model_construct(version=1, key_file=Path("x"), targets={"glm": target})
    with pytest.raises(ConfigError, match="did not come from it"):
        campaign(settings, "glm")
