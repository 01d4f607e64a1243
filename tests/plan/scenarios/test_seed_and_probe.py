"""The seed-and-probe scenario."""

import dataclasses
from collections.abc import Generator

import pytest

from prober.domain.answer import Answer
from prober.domain.campaign import ScenarioSettings
from prober.domain.evidence import WaveEvidence
from prober.domain.probe import Expectation, Role, Wave
from prober.plan.scenarios.baseline import baseline
from prober.plan.scenarios.seed_and_probe import seed_and_probe
from tests.support.scripted import (
    CONTEXT,
    FIRST_REJECTED,
    LEAK,
    Reply,
    failing,
    incident,
    play,
    serving_below,
    stage_of,
    target_of,
)

UNCONFIRMED = dataclasses.replace(LEAK, is_confirmed=False)


def test_seeds_then_anchors_then_checks_one_by_one():
    """Donors come first, timings next, over-limit probes last; as many as set; all due to be refused."""
    target = target_of()
    played = play(seed_and_probe(stage_of(target)), target, serving_below(FIRST_REJECTED))
    roles = [probe.role for probe in played.probes]
    assert roles == [Role.DONOR] * 4 + [Role.ANCHOR] * 5 + [Role.CHECK] * 2
    seeded = sum(j.evidence.observation.usage.prompt_tokens for j in played.of(Role.DONOR))
    assert seeded >= CONTEXT + 1
    assert {j.evidence.probe.expectation for j in played.of(Role.CHECK)} == {Expectation.REJECT}


def test_anchors_of_the_run_so_far_are_enough():
    """After a baseline in the same run no prefill is timed again."""
    target = target_of()

    def both() -> Generator[Wave, WaveEvidence, None]:
        yield from baseline(stage_of(target))
        yield from seed_and_probe(stage_of(target))

    played = play(both(), target, serving_below(FIRST_REJECTED))
    assert len(played.of(Role.ANCHOR)) == ScenarioSettings().anchor_probes


def test_the_incident_is_met_by_the_first_over_limit_probe():
    """The leak shows at once, whether the pool is known or not, and on a shared target nothing follows."""
    for target in (target_of(shared=True), target_of(shared=True, prefill_pool_tokens=None)):
        played = play(seed_and_probe(stage_of(target)), target, incident)
        assert len(played.of(Role.CHECK)) == 1
        assert played.judgements[-1].is_confirmed_violation


def test_an_unconfirmed_hit_is_probed_again_at_once_and_then_ends_a_shared_run():
    """The re-probe is the very next wave; two violations end the scenario on a shared target."""
    target = target_of(shared=True)
    played = play(seed_and_probe(stage_of(target)), target, serving_below(FIRST_REJECTED, UNCONFIRMED))
    assert [probe.role for probe in played.probes][-2:] == [Role.CHECK, Role.CONFIRMATION]
    assert len(played.of(Role.CHECK)) == 1


def test_checkers_and_lengths_rotate():
    """More probes than lengths start over, with the next tenant."""
    target = target_of()
    stage = stage_of(target, over_limit_probes=7, seed_tokens=0, anchor_probes=0)
    played = play(seed_and_probe(stage), target, serving_below(FIRST_REJECTED))
    assert [probe.tenant.number for probe in played.probes] == [1, 2, 1, 2, 1, 2, 1]
    lengths = [probe.prompt.tokens for probe in played.probes]
    assert lengths[5:] == lengths[:2]


@pytest.mark.parametrize("answer", [Answer.HANG, Answer.BUSY, Answer.SERVER_ERROR])
def test_a_dead_target_is_left_alone(answer: Answer):
    """Seeding fails, nothing else is sent."""
    target = target_of()
    played = play(seed_and_probe(stage_of(target)), target, lambda *_: failing(answer))
    assert {probe.role for probe in played.probes} == {Role.DONOR}
    assert len(played.probes) <= 4


def test_refused_donors_do_not_keep_over_limit_probes_from_being_sent():
    """Status, timing and recall still tell when nothing could be seeded."""
    target = target_of()
    played = play(seed_and_probe(stage_of(target)), target, serving_below(1_000))
    assert len(played.of(Role.CHECK)) == 2


def test_no_over_limit_probes_wanted_none_sent():
    """A setting of 0 leaves seeding and anchors."""
    target = target_of()
    played = play(seed_and_probe(stage_of(target, over_limit_probes=0)), target, lambda *_: Reply())
    assert played.of(Role.CHECK) == []
