"""Streamed and whole answers, against targets that do not end them right."""

import pytest

from prober.domain.finding import Reason
from prober.domain.options import RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role, Wave
from prober.plan.scenarios.stream_contract import stream_contract
from tests.support.judged import assert_goes_on_until_excluded, assert_says_how_many_are_missing
from tests.support.scripted import LEAK, OnWave, Played, Reply, Respond, play, stage_of, target_of, unheard

BROKEN = Reply(outcome=Outcome.SUSPECT, reason=Reason.STREAM_BROKEN)


def played_against(
    respond: Respond, *, shared: bool = False, on_wave: OnWave = unheard, tenants: int = 3, **settings: object
) -> Played:
    target = target_of(shared=shared)
    return play(stream_contract(stage_of(target, tenants=tenants, **settings)), target, respond, on_wave=on_wave)


def sound(_probe: Probe, _tokens: int) -> Reply:
    return Reply()


class Broken:
    """Breaks answers that are delivered in one way, alone or beside others."""

    def __init__(self, *, stream: bool, crowd: bool) -> None:
        self.stream = stream
        self.crowd = crowd
        self.is_crowd = False

    def on_wave(self, wave: Wave) -> None:
        self.is_crowd = len(wave.probes) > 1

    def __call__(self, probe: Probe, _tokens: int) -> Reply:
        is_met = (probe.stream, self.is_crowd) == (self.stream, self.crowd)
        return BROKEN if is_met and probe.options.wants_logprobs else Reply()


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("crowd", [True, False], ids=["beside", "alone"])
def test_broken_answers_are_met_and_confirmed(*, stream: bool, crowd: bool):
    """Streamed or whole, alone or beside others: the first round meets it, and the same round is played again."""
    target = Broken(stream=stream, crowd=crowd)
    played = played_against(target, on_wave=target.on_wave, rounds=1)
    roles = {j.evidence.probe.role for j in played.judgements if j.outcome is Outcome.SUSPECT}
    assert roles == {Role.CHECK, Role.CONFIRMATION}
    assert [len(wave.probes) for wave in played.waves] == [1, 1, 8] * 2
    checked, confirmed = ([p.stream for w in waves for p in w.probes] for waves in (played.waves[:3], played.waves[3:]))
    assert checked == confirmed


def test_each_round_reads_a_streamed_and_a_whole_answer_alone_and_then_a_crowd():
    """All ask for log probabilities; a quarter of the crowd comes whole."""
    played = played_against(sound)
    assert {probe.options for probe in played.probes} == {RequestOptions(wants_logprobs=True)}
    assert {probe.role for probe in played.probes} == {Role.CHECK}
    shapes = [[probe.stream for probe in wave.probes] for wave in played.waves]
    crowd = [True, False, True, True] * 2
    assert shapes == [[True], [False], crowd] * 8


def test_a_crowd_is_of_all_tenants_and_of_both_sizes_in_both_deliveries():
    """Short and longer answers, streamed and whole, end at different times."""
    played = played_against(sound)
    crowds = [wave.probes for wave in played.waves if len(wave.probes) > 1]
    assert all({probe.tenant.number for probe in crowd} == {0, 1, 2} for crowd in crowds)
    kinds = {(probe.stream, probe.prompt.tokens) for crowd in crowds for probe in crowd}
    assert kinds == {(stream, tokens) for stream in (True, False) for tokens in (None, 1_024)}


def test_a_leak_ends_it_on_a_shared_target():
    """The wave that shows it is the last."""
    target = Broken(stream=True, crowd=True)
    played = played_against(
        lambda probe, tokens: LEAK if target(probe, tokens) is BROKEN else Reply(), shared=True, on_wave=target.on_wave
    )
    assert [len(wave.probes) for wave in played.waves] == [1, 1, 8]


def test_a_leak_rate_is_excluded_or_said_not_to_be():
    """Rounds go on until the checks suffice; else their number is told."""
    assert played_against(sound).returned == ()
    assert_goes_on_until_excluded(stream_contract)
    assert_says_how_many_are_missing(stream_contract)
