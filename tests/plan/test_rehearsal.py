"""Estimates."""

import pytest

from prober.domain.campaign import Campaign, ScenarioSettings
from prober.domain.probe import Role
from prober.domain.target import Target
from prober.domain.verdict import Spending
from prober.plan.calibrate import calibrate
from prober.plan.rehearsal import estimate
from prober.plan.scenarios import SCENARIOS
from tests.support.marks import marks_of
from tests.support.scripted import (
    FIRST_REJECTED,
    play,
    sent_size,
    serving_below,
    stage_of,
    target_of,
    tenants_of,
)

SEEDING = ("seed_and_probe", "limit_sweep")


def campaign_of(*scenarios: str, target: Target | None = None, **settings: object) -> Campaign:
    return Campaign(
        target=target or target_of(),
        tenants=tenants_of(3),
        scenarios=scenarios,
        settings=ScenarioSettings(**settings),
    )


def test_without_scenarios_only_the_calibration_is_estimated():
    """The calibration's own calls are counted."""
    spending = estimate(campaign_of())
    played = play(calibrate(target_of(), tenants_of(1)[0]), target_of(), serving_below(FIRST_REJECTED))
    assert spending.requests == len(played.probes)
    assert spending.output_tokens == sum(probe.max_output_tokens for probe in played.probes)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_estimate_is_what_a_healthy_target_sees(scenario: str):
    """Requests and prompt tokens equal those of a scenario played once more against a healthy target."""
    earlier = play(SCENARIOS[scenario](stage_of(target_of())), target_of(), serving_below(FIRST_REJECTED))
    stage = stage_of(target_of(), reference=marks_of(earlier.of(Role.REFERENCE)))
    played = play(SCENARIOS[scenario](stage), target_of(), serving_below(FIRST_REJECTED))
    figure = estimate(campaign_of(scenario))
    calibration = estimate(campaign_of())
    assert figure.requests - calibration.requests == len(played.probes)
    tokens = sum(
        sent_size(probe, j.evidence.prompt.canary) for probe, j in zip(played.probes, played.judgements, strict=True)
    )
    assert figure.prompt_tokens - calibration.prompt_tokens == tokens


def test_anchors_are_estimated_once():
    """A baseline before it spares seed_and_probe its own anchors, in the estimate as in the run."""
    both = estimate(campaign_of("baseline", "seed_and_probe"))
    alone = estimate(campaign_of("baseline")).requests + estimate(campaign_of("seed_and_probe")).requests
    assert both.requests == alone - 5 - estimate(campaign_of()).requests


def test_an_estimate_grows_with_the_settings():
    """More seeding costs more."""
    less, more = (estimate(campaign_of("seed_and_probe", seed_tokens=tokens)) for tokens in (10, 5_000_000))
    assert isinstance(less, Spending)
    assert less.tokens < more.tokens


@pytest.mark.no_coverage
def test_targets_of_any_size_can_be_estimated():
    """From a 1,024-token context to 4M tokens."""
    for context in (1_024, 32_768, 4_000_000):
        target = target_of(context_tokens=context, prefill_pool_tokens=None, decode_pool_tokens=None)
        assert estimate(campaign_of(*SCENARIOS, target=target)).requests > 0


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name not in ("baseline", "discover", *SEEDING)])
def test_a_scenario_of_short_probes_is_cheap(scenario: str):
    """By default none of them costs more than a single long prompt does on a target of a million tokens."""
    cost = estimate(campaign_of(scenario)).tokens - estimate(campaign_of()).tokens
    assert 0 < cost <= 500_000


@pytest.mark.no_coverage
def test_excluding_a_leak_rate_is_estimated_too():
    """What a rate of 1 % takes is known before it is spent."""
    for scenario in SCENARIOS:
        less, more = (
            estimate(campaign_of(scenario, rounds=1, excluded_leak_rate=rate)).requests for rate in (None, 0.01)
        )
        assert more >= less
