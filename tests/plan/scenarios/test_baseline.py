"""The baseline scenario."""

from prober.domain.probe import Expectation, Role
from prober.plan.scenarios.baseline import baseline
from tests.support.scripted import FIRST_REJECTED, TOO_FAST, Reply, play, stage_of, target_of


def test_small_and_large_prompts_of_all_tenants_must_be_served():
    """Each size goes to every tenant in turn, is expected to be served, and the anchors follow last."""
    played = play(baseline(stage_of(target_of())), target_of(), lambda *_: Reply())
    checks = [judgement.evidence.probe for judgement in played.of(Role.CHECK)]
    assert [(probe.prompt.tokens, probe.tenant.number) for probe in checks] == [
        *((2_048, number) for number in range(3)),
        *((FIRST_REJECTED // 4, number) for number in range(3)),
    ]
    assert {probe.expectation for probe in played.probes} == {Expectation.SERVE}
    assert [probe.role for probe in played.probes[6:]] == [Role.ANCHOR] * 5


def test_numbers_of_probes_are_settings():
    """Probes per size and anchors are set by the campaign."""
    played = play(baseline(stage_of(target_of(), baseline_probes=1, anchor_probes=0)), target_of(), lambda *_: Reply())
    assert len(played.probes) == 2


def test_a_hit_in_the_baseline_is_probed_again():
    """A leak needs no over-limit prompt to deserve its confirmation."""
    played = play(baseline(stage_of(target_of())), target_of(), lambda *_: TOO_FAST)
    assert len(played.of(Role.CONFIRMATION)) == 1
