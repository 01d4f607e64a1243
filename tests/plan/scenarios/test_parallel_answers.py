"""Rising concurrency, against targets that mix up what is in flight together."""

import collections
import dataclasses

import pytest

from prober.detect.detectors.lost_under_load import detect_lost_under_load
from prober.domain.canary import Canary
from prober.domain.finding import Reason
from prober.domain.options import Arm
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role, Wave
from prober.domain.target import Ask
from prober.plan.scenarios.parallel_answers import LINES, parallel_answers
from tests.support.judged import (
    Seen,
    assert_goes_on_until_excluded,
    assert_says_how_many_are_missing,
    play_judged,
    reasons,
)
from tests.support.scripted import LEAK, Played, Reply, Respond, play, stage_of, target_of

UNCONFIRMED = dataclasses.replace(LEAK, is_confirmed=False)
PAGE = target_of().page_tokens


def played_against(respond: Respond, *, shared: bool = False, tenants: int = 3, **more: object) -> Played:
    target = target_of(shared=shared)
    on_wave = more.pop("on_wave", lambda _: None)
    return play(parallel_answers(stage_of(target, tenants=tenants, **more)), target, respond, on_wave=on_wave)


def sound(_probe: Probe, _tokens: int) -> Reply:
    return Reply()


class MixUp:
    """Two answers change places when requests of two tenants, as many as `least` in all, are in flight together."""

    def __init__(self, least: int, leak: Reply = LEAK) -> None:
        self.least = least
        self.leak = leak
        self.is_mixed = False

    def on_wave(self, wave: Wave) -> None:
        self.is_mixed = len(wave.probes) >= self.least and len({probe.tenant for probe in wave.probes}) > 1

    def __call__(self, _probe: Probe, _tokens: int) -> Reply:
        return self.leak if self.is_mixed else Reply()


@pytest.mark.parametrize("tenants", [2, 3, 4])
@pytest.mark.parametrize("least", [2, 4, 8])
def test_answers_that_change_places_are_met_whatever_load_it_takes(least: int, tenants: int):
    """Nothing shows while questions come one at a time; the first wave that is large enough is the last."""
    target = MixUp(least)
    played = played_against(target, shared=True, tenants=tenants, on_wave=target.on_wave)
    assert {probe.role for wave in played.waves[:-1] for probe in wave.probes} <= {Role.REFERENCE, Role.CHECK}
    assert [judgement for judgement in played.judgements if judgement.is_confirmed_violation]
    assert len(played.waves[-1].probes) >= least


def test_a_first_hit_is_confirmed_at_the_same_load_with_questions_of_the_same_shape():
    """What depends on load, tenants or prompt lengths is met again."""
    target = MixUp(8, UNCONFIRMED)
    played = played_against(target, on_wave=target.on_wave)
    again = next(wave for wave in played.waves if wave.probes[0].role is Role.CONFIRMATION)
    before = played.waves[played.waves.index(again) - 1]
    for first, second in zip(before.probes, again.probes, strict=True):
        assert (first.prompt, first.tenant, first.trial) == (second.prompt, second.tenant, second.trial)
    assert len(played.of(Role.CONFIRMATION)) == 8


def test_questions_are_asked_alone_first_and_then_at_each_concurrency():
    """References one at a time (series of load 1), then waves of 2, 8, 4, 8 in turn, each whole, of several tenants."""
    played = played_against(sound)
    alone, together = played.waves[:8], played.waves[8:]
    assert [len(wave.probes) for wave in alone] == [1] * 8
    assert [len(wave.probes) for wave in together] == [2, 8, 4, 8] * 2
    for wave in alone:
        assert {(probe.role, probe.trial.arm, probe.trial.series) for probe in wave.probes} == {
            (Role.REFERENCE, Arm.REFERENCE, "parallel/1")
        }
    for wave in together:
        assert {(probe.role, probe.trial.arm, probe.trial.series) for probe in wave.probes} == {
            (Role.CHECK, Arm.CHECK, f"parallel/{len(wave.probes)}")
        }
        assert len({probe.tenant for probe in wave.probes}) == min(3, len(wave.probes))


@pytest.mark.parametrize(("concurrency", "loads"), [(2, [2]), (3, [2, 3]), (8, [2, 4, 8]), (20, [2, 4, 8, 16, 20])])
def test_every_doubling_up_to_the_highest_concurrency_is_played(concurrency: int, loads: list[int]):
    """Also one that is no power of two."""
    played = played_against(sound, concurrency=concurrency)
    sizes = collections.Counter(len(wave.probes) for wave in played.waves[8:])
    assert sorted(sizes) == loads
    assert sizes[concurrency] >= 4


@pytest.mark.parametrize("tenants", [2, 3, 4])
def test_lengths_lie_around_pages_and_powers_of_two_and_every_tenant_sends_such(tenants: int):
    """One token above each first; the others are bare facts of several lengths."""
    played = played_against(sound, tenants=tenants, rounds=24)
    sized = [probe for probe in played.probes if probe.prompt.tokens is not None]
    lengths = {probe.prompt.tokens for probe in sized}
    assert {513, 512, 511, 1_025, 1_024, 1_023, 2_048, 2_047} <= lengths
    assert all(any((length + step) % PAGE == 0 for step in (-1, 0, 1)) for length in lengths)
    assert len({probe.tenant for probe in sized}) == tenants
    first = [j.evidence.probe.prompt.tokens for j in played.of(Role.CHECK) if j.evidence.probe.prompt.tokens][:5]
    assert {length % PAGE for length in first} == {1}
    facts = [probe for probe in played.probes if probe.prompt.tokens is None]
    assert {probe.prompt.ask for probe in facts} == {Ask.ONE_FACT}
    assert {probe.prompt.filler_lines for probe in facts} == set(LINES)


def test_a_target_too_small_for_an_edge_gets_its_smallest_prompt():
    """With a baseline as small as the smallest prompt there is no page's edge in between."""
    played = played_against(sound, baseline_tokens=1)
    smallest = stage_of(target_of()).calibration.smallest_tokens
    assert {probe.prompt.tokens for probe in played.probes} <= {None, *range(smallest, smallest + 2)}
    assert smallest in {probe.prompt.tokens for probe in played.probes}


def test_phrases_lost_under_load_are_told_by_the_series():
    """The detector finds answers alone and beside others by the series' names, and the scenario asks enough of both."""

    class Crowded:
        def __call__(self, probe: Probe, _canary: Canary) -> Seen:
            return Seen(is_found=probe.trial.series == "parallel/1")

    target = target_of()
    played = play_judged(parallel_answers(stage_of(target)), target, Crowded(), detect_lost_under_load)
    assert (Role.CHECK, Reason.LOST_UNDER_LOAD) in reasons(played, Outcome.SUSPECT)
    forgetful = play_judged(
        parallel_answers(stage_of(target)), target, lambda *_: Seen(is_found=False), detect_lost_under_load
    )
    assert reasons(forgetful, Outcome.SUSPECT) == []


def test_a_leak_rate_is_excluded_or_said_not_to_be():
    """Rounds go on until the checks suffice; else their number is told."""
    assert_goes_on_until_excluded(parallel_answers)
    assert_says_how_many_are_missing(parallel_answers)
