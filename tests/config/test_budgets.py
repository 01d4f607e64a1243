"""Budgets and prices of the configuration."""

import json
from pathlib import Path
from typing import Any

import pytest

from prober.config.campaigns import campaign, caps, price
from prober.config.loader import load_settings
from prober.config.problems import InvalidConfigError
from prober.config.schema import Settings
from prober.domain.budget import Cap, Price, Unit, Window
from prober.domain.errors import ConfigError

PRICES = {"prompt": 0.6, "output": 2.2}


def settings_of(folder: Path, *, budgets: dict[str, Any] | None = None, **target: Any) -> Settings:  # noqa: ANN401
    glm = {
        "url": "https://api.example/v1",
        "dialect": "openai-chat",
        "model": "glm",
        "context_tokens": 90_000,
        "tenants": [{"name": name, "credential": f"${{{name.upper()}}}"} for name in ("alpha", "bravo")],
    }
    document = {"version": 1, "key_file": "canary.key", "targets": {"glm": glm | target, "free": glm}}
    path = folder / "prober.yaml"
    path.write_text(json.dumps(document | ({} if budgets is None else {"budgets": budgets})))
    environment = {"ALPHA": "sk-1", "BRAVO": "sk-2"}
    return load_settings(path, environment, known_dialects=["openai-chat"], known_scenarios=["baseline"]).settings


def objections(folder: Path, **sections: Any) -> str:  # noqa: ANN401
    with pytest.raises(InvalidConfigError) as refused:
        settings_of(folder, **sections)
    return str(refused.value)


def test_nothing_is_bounded_and_nothing_charged_by_default(tmp_path: Path):
    """A first configuration needs neither."""
    settings = settings_of(tmp_path)
    assert caps(settings) == ()
    assert price(settings, "glm") == Price()
    assert campaign(settings, "glm").max_run_requests is None


def test_every_key_becomes_its_cap(tmp_path: Path):
    """Of all targets together first; a tenant's are each tenant's; money in millionths."""
    settings = settings_of(tmp_path, budgets={"hour": {"tokens": 5}, "tenant_day": {"requests": 6}})
    assert caps(settings) == (
        Cap(window=Window.HOUR, unit=Unit.TOKENS, limit=5),
        Cap(window=Window.DAY, unit=Unit.REQUESTS, limit=6, is_per_tenant=True),
    )


def test_a_targets_caps_are_its_own(tmp_path: Path):
    """With its name; a target that has none has none."""
    target = {"budgets": {"day": {"money": 1.25, "tokens": 7}, "tenant_hour": {"requests": 8}}, "prices": PRICES}
    settings = targeted(tmp_path, target)
    assert caps(settings) == (
        Cap(window=Window.DAY, unit=Unit.TOKENS, limit=7, target="glm"),
        Cap(window=Window.DAY, unit=Unit.MONEY, limit=1_250_000, target="glm"),
        Cap(window=Window.HOUR, unit=Unit.REQUESTS, limit=8, target="glm", is_per_tenant=True),
    )
    assert price(settings, "glm") == Price(prompt=0.6, output=2.2)
    assert price(settings, "free") == Price()


def targeted(folder: Path, target: dict[str, Any]) -> Settings:
    """Settings of a target that has a section `budgets` of its own."""
    path = folder / "prober.yaml"
    settings_of(folder)
    document = json.loads(path.read_text())
    document["targets"]["glm"].update(target)
    path.write_text(json.dumps(document))
    environment = {"ALPHA": "sk-1", "BRAVO": "sk-2"}
    return load_settings(path, environment, known_dialects=["openai-chat"], known_scenarios=["baseline"]).settings


def test_a_run_has_a_cap_on_requests_too(tmp_path: Path):
    """It reaches the campaign."""
    assert campaign(settings_of(tmp_path, max_run_requests=40), "glm").max_run_requests == 40


def test_a_price_belongs_to_a_target(tmp_path: Path):
    """One that does not exist has none."""
    with pytest.raises(ConfigError, match="no such target"):
        price(settings_of(tmp_path), "elsewhere")


def test_money_without_prices_is_refused(tmp_path: Path):
    """A cap that nothing would ever count towards would be believed in vain: both kinds name their place."""
    overall = objections(tmp_path, budgets={"tenant_day": {"money": 5}}, prices=PRICES)
    assert "budgets.tenant_day.money: needs prices of every target; there are none of free" in overall
    with pytest.raises(InvalidConfigError, match=r"targets\.glm\.budgets\.day\.money: needs prices of this target"):
        targeted(tmp_path, {"budgets": {"day": {"money": 5}}})


@pytest.mark.parametrize(
    ("section", "place"),
    [
        ({"hour": {"tokens": 0}}, "budgets.hour.tokens"),
        ({"hour": {"tokens": 1.5}}, "budgets.hour.tokens"),
        ({"day": {"money": 0}}, "budgets.day.money"),
        ({"currency": "euro"}, "budgets.currency: must be three capital letters"),
        ({"week": {"tokens": 5}}, "budgets"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, section: dict[str, Any], place: str):
    """Caps of nothing, and windows that do not exist."""
    assert place in objections(tmp_path, budgets=section)


@pytest.mark.parametrize("key", ["tokens_per_minute", "tenant_tokens_per_minute"])
def test_a_pace_that_would_stop_everything_is_refused(tmp_path: Path, key: str):
    """One prompt of the whole context must be paid off within half an hour."""
    assert f"targets.glm.{key}: must be at least 3000" in objections(tmp_path, **{key: 2_999})
    assert getattr(settings_of(tmp_path, **{key: 3_000}).targets["glm"], key) == 3_000
