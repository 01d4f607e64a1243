"""Contract of every scenario, against every kind of target."""

import itertools

import pytest

from prober.domain.evidence import Answer
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Role, Wave
from prober.plan.course import MAX_WAVE_PROBES, MAX_WAVE_TOKENS
from prober.plan.scenarios import SCENARIOS
from prober.prompt.sizing import structure_of
from tests.support.scripted import (
    FIRST_REJECTED,
    REJECTED,
    Reply,
    Respond,
    failing,
    incident,
    inexact_calibration,
    noisy,
    play,
    sent_size,
    serving_below,
    stage_of,
    target_of,
)

MAX_PROBES = 48 + 48
"""Of a sweep with all its seeding: the largest any scenario sends by default."""

FAILURES = [answer for answer in Answer if answer.value in {reason.value for reason in Reason}]


def always(reply: Reply) -> Respond:
    return lambda *_: reply


TARGETS = {
    "healthy": serving_below(FIRST_REJECTED),
    "incident": incident,
    "suspicious": serving_below(5_000, Reply(outcome=Outcome.SUSPECT, reason=Reason.PREFILL_TOO_FAST)),
    "forgetful": always(Reply(outcome=Outcome.INCONCLUSIVE, reason=Reason.RECALL_MISSED, is_end_found=False)),
    "refusing": always(REJECTED),
    "uncounting": always(Reply(is_counted=False)),
    **{answer.value: always(failing(answer)) for answer in FAILURES},
}
PLACES = {
    "known": target_of(),
    "shared": target_of(shared=True),
    "unknown": target_of(shared=True, prefill_pool_tokens=None, decode_pool_tokens=None),
    "small": target_of(shared=True, context_tokens=2_048, prefill_pool_tokens=None, decode_pool_tokens=None),
}


def cases():
    return itertools.product(SCENARIOS, TARGETS, PLACES)


@pytest.mark.parametrize(("scenario", "kind", "place"), list(cases()))
def test_every_scenario_ends_within_its_bounds(scenario: str, kind: str, place: str):
    """Whatever comes back: it ends, labels are unique, waves bounded, prompts composable, over-limit probes alone."""
    target = PLACES[place]
    for calibration, count in ((None, sent_size), (inexact_calibration(), noisy(12))):
        stage = stage_of(target, tenants=2, calibration=calibration)
        played = play(SCENARIOS[scenario](stage), target, TARGETS[kind], count=count, tolerance=200)
        labels = [probe.label for probe in played.probes]
        assert len(labels) == len(set(labels))
        assert all(label.startswith(f"{scenario}/") for label in labels)
        assert 0 < len(played.probes) <= MAX_PROBES
        for probe in played.probes:
            structure_of(probe.prompt, stage.calibration)
        for wave in played.waves:
            assert 0 < len(wave.probes) <= MAX_WAVE_PROBES
            assert sum(probe.prompt.tokens for probe in wave.probes) <= MAX_WAVE_TOKENS
            assert len(wave.probes) == 1 or not any(probe.is_over_limit for probe in wave.probes)
            assert wave.purpose


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_over_limit_probes_cap_their_output(scenario: str):
    """No over-limit probe may draw more of other people's text than set."""
    stage = stage_of(target_of(thinking=True), over_limit_max_output_tokens=32)
    played = play(SCENARIOS[scenario](stage), target_of(), serving_below(FIRST_REJECTED))
    assert all(probe.max_output_tokens == 32 for probe in played.probes if probe.is_over_limit)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("tenants", [2, 3, 5])
def test_every_scenario_uses_several_tenants(scenario: str, tenants: int):
    """Isolation is a matter of at least two tenants, and who seeds never checks in the same scenario."""
    played = play(SCENARIOS[scenario](stage_of(target_of(), tenants=tenants)), target_of(), incident)
    assert len({probe.tenant for probe in played.probes}) >= 2
    if scenario != "baseline":
        donors = {j.evidence.probe.tenant for j in played.of(Role.DONOR)}
        checkers = {j.evidence.probe.tenant for j in played.of(Role.CHECK, Role.CONFIRMATION)}
        assert donors
        assert checkers
        assert donors.isdisjoint(checkers)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_can_be_cut_short(scenario: str):
    """Closing the generator after any of its first waves ends it without another wave."""
    for waves in range(1, 6):
        generator = SCENARIOS[scenario](stage_of(target_of()))
        wave = next(generator)
        for _ in range(waves - 1):
            played = play(iter_once(wave), target_of(), serving_below(FIRST_REJECTED))
            wave = generator.send(tuple(played.judgements))
        generator.close()
        with pytest.raises(StopIteration):
            next(generator)


def iter_once(wave: Wave):
    yield wave


@pytest.mark.parametrize("scenario", ["seed_and_probe", "limit_sweep"])
def test_a_shared_target_gets_no_probe_after_a_confirmed_violation(scenario: str):
    """The first confirmed violation is the last probe sent to a target that real customers share."""
    target = target_of(shared=True)
    played = play(SCENARIOS[scenario](stage_of(target)), target, incident)
    confirmed = [judgement.is_confirmed_violation for judgement in played.judgements]
    assert confirmed.index(True) == len(confirmed) - 1
