"""Contract of every scenario, against every kind of target."""

import itertools

import pytest

from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Role, Wave
from prober.plan.course import LIVENESS_TRIES, PATIENCE
from prober.plan.lengths import size_of
from prober.plan.packing import MAX_CROWD_TOKENS, MAX_WAVE_PROBES, MAX_WAVE_TOKENS
from prober.plan.scenarios import SCENARIOS
from prober.plan.stage import Curtailed, Scenario
from prober.plan.trials import checks_for
from prober.prompt.sizing import structure_of
from tests.support.marks import marks_of
from tests.support.scripted import (
    FIRST_REJECTED,
    LEAK,
    REJECTED,
    Reply,
    Respond,
    failing,
    healthy,
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

SEEDING = ["seed_and_probe", "limit_sweep"]
"""Scenarios whose leak needs pools full of somebody's text."""

IN_ROUNDS = ["abort_storm", "replay", "park_and_return", "provoked_refusals", "keepalive", "rollout"]
"""Scenarios that repeat their step until a leak rate is excluded."""

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
            tokens = sum(size_of(probe.prompt, stage.calibration) for probe in wave.probes)
            assert 0 < len(wave.probes) <= stage.settings.concurrency
            assert tokens <= (MAX_WAVE_TOKENS if len(wave.probes) <= MAX_WAVE_PROBES else MAX_CROWD_TOKENS)
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
    donors = {j.evidence.probe.tenant for j in played.of(Role.DONOR)}
    checkers = {j.evidence.probe.tenant for j in played.of(Role.CHECK, Role.CONFIRMATION)}
    assert donors.isdisjoint(checkers)
    if scenario in SEEDING:
        assert donors
        assert checkers


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_can_be_cut_short(scenario: str):
    """Closing the generator after any of its first waves ends it without another wave."""
    for waves in range(1, 6):
        generator = SCENARIOS[scenario](stage_of(target_of()))
        wave = next(generator)
        for _ in range(waves - 1):
            played = play(iter_once(wave), target_of(), serving_below(FIRST_REJECTED))
            try:
                wave = generator.send(tuple(played.judgements))
            except StopIteration:
                break
        generator.close()
        with pytest.raises(StopIteration):
            next(generator)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("shared", [True, False])
def test_every_scenario_ends_in_order_when_no_more_may_be_sent(scenario: str, *, shared: bool):
    """Told so in place of any wave's evidence, it sends no other wave and returns what it could not judge."""
    target = target_of(shared=shared)
    stage = stage_of(target, excluded_leak_rate=0.01)
    for sent in (1, 2, 3, 5):
        generator = SCENARIOS[scenario](stage)
        wave = next(generator)
        for _ in range(sent - 1):
            wave = generator.send(tuple(play(iter_once(wave), target, serving_below(FIRST_REJECTED)).judgements))
        with pytest.raises(StopIteration) as ended:
            generator.throw(Curtailed)
        sentences = ended.value.value
        assert isinstance(sentences, tuple)
        assert scenario not in IN_ROUNDS or any("299 clean checks" in sentence for sentence in sentences)


def iter_once(wave: Wave):
    yield wave


@pytest.mark.parametrize("scenario", SEEDING)
def test_a_shared_target_gets_no_probe_after_a_confirmed_violation(scenario: str):
    """The first confirmed violation is the last probe sent to a target that real customers share."""
    target = target_of(shared=True)
    played = play(SCENARIOS[scenario](stage_of(target)), target, incident)
    confirmed = [judgement.is_confirmed_violation for judgement in played.judgements]
    assert confirmed.index(True) == len(confirmed) - 1


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_leak_ends_every_scenario_on_a_shared_target(scenario: str):
    """Whatever shows it: the wave that holds the first confirmed violation is the last one."""
    target = target_of(shared=True)
    played = play(SCENARIOS[scenario](stage_of(target)), target, always(LEAK))
    assert len(played.waves) == 1


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("answer", [Answer.HANG, Answer.BUSY, Answer.SERVER_ERROR, Answer.UNREACHABLE])
def test_a_target_that_does_not_answer_is_soon_left_alone(scenario: str, answer: Answer):
    """Three probes without an answer are enough: a wave already sent is waited for, and it is seen alive or not."""
    stage = stage_of(target_of())
    played = play(SCENARIOS[scenario](stage), target_of(), always(failing(answer)))
    assert len(played.probes) < PATIENCE + stage.settings.concurrency + LIVENESS_TRIES


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_names_the_kinds_it_is_for(scenario: str):
    """Coverage counts what a scenario provokes: at least one kind, none twice."""
    entry = SCENARIOS[scenario]
    assert isinstance(entry, Scenario)
    assert entry.kinds
    assert len(set(entry.kinds)) == len(entry.kinds)


def staged(scenario: str, **settings: object):
    """Stage of a run that had a predecessor."""
    earlier = play(SCENARIOS[scenario](stage_of(target_of())), target_of(), serving_below(FIRST_REJECTED))
    return stage_of(target_of(), reference=marks_of(earlier.of(Role.REFERENCE)), park_tokens=2_000, **settings)


@pytest.mark.parametrize("scenario", IN_ROUNDS)
def test_scenarios_go_on_until_a_leak_rate_is_excluded(scenario: str):
    """As many clean checks are made as the rate takes at 95 %, and hardly more; then nothing is missing."""
    played = play(
        SCENARIOS[scenario](staged(scenario, rounds=1, excluded_leak_rate=0.02)),
        target_of(),
        serving_below(FIRST_REJECTED),
        max_waves=2_000,
    )
    assert checks_for(0.02) <= len(played.of(Role.CHECK)) < checks_for(0.02) + 20
    assert played.returned == ()


@pytest.mark.parametrize("scenario", IN_ROUNDS)
def test_scenarios_say_how_many_checks_are_missing(scenario: str):
    """Where most checks tell nothing the rate is not excluded, and the sentence names the bound that was reached."""
    replies = itertools.cycle([Reply(outcome=Outcome.INCONCLUSIVE, reason=Reason.RECALL_MISSED)] * 3 + [Reply()])
    played = play(
        SCENARIOS[scenario](staged(scenario, rounds=1, excluded_leak_rate=0.1)),
        target_of(),
        lambda probe, _: next(replies) if probe.role is Role.CHECK else healthy(probe),
        max_waves=2_000,
    )
    clean = sum(j.outcome is Outcome.CLEAN for j in played.of(Role.CHECK))
    assert clean < checks_for(0.1)
    assert f"{clean} of the 29" in played.returned[-1]
    assert f"{29 - clean} are missing" in played.returned[-1]
