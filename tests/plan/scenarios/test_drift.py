"""References asked again and again, against targets that get worse as they serve."""

import itertools

from prober.detect.detectors.drift import detect_drift
from prober.domain.answer import Answer
from prober.domain.canary import Canary
from prober.domain.finding import Reason
from prober.domain.options import Arm
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role
from prober.domain.target import Ask
from prober.plan.scenarios.drift import LINES, SERIES, drift
from tests.support.judged import (
    Seen,
    assert_goes_on_until_excluded,
    assert_says_how_many_are_missing,
    play_judged,
    reasons,
)
from tests.support.scripted import LEAK, Played, Reply, Respond, failing, play, stage_of, target_of


def played_against(respond: Respond, *, shared: bool = False, tenants: int = 3, **settings: object) -> Played:
    target = target_of(shared=shared)
    return play(drift(stage_of(target, tenants=tenants, **settings)), target, respond)


def sound(_probe: Probe, _tokens: int) -> Reply:
    return Reply()


class Noise:
    """From so many requests on, every second answer is wrong: logits get noisier with what was served since start."""

    def __init__(self, good: int) -> None:
        self.good = good
        self.served = itertools.count(1)

    def __call__(self, _probe: Probe, _canary: Canary) -> Seen:
        number = next(self.served)
        return Seen(is_found=number <= self.good or number % 2 == 0)


def test_answers_that_get_worse_are_told_before_the_default_rounds_end():
    """SGLang issue #23020: good for 50 requests. The chart finds the references by series, arm and text."""
    target = target_of()
    played = play_judged(drift(stage_of(target, rounds=16)), target, Noise(50), detect_drift)
    found = reasons(played, Outcome.SUSPECT)
    assert found
    assert set(found) == {(Role.CHECK, Reason.DRIFTED)}
    first = next(j for j in played.judgements if j.outcome is Outcome.SUSPECT)
    assert 50 < played.judgements.index(first) < 110


def test_what_was_wrong_from_the_start_is_no_drift():
    """References that the LLM never knew say nothing."""
    target = target_of()
    played = play_judged(drift(stage_of(target)), target, Noise(0), detect_drift)
    assert reasons(played, Outcome.SUSPECT) == []


def test_references_are_asked_alone_first_and_then_alone_after_load():
    """The same three in each round, byte for byte, by the same tenant, after three quarters of a crowd of others."""
    played = played_against(sound)
    references = played.of(Role.REFERENCE)
    assert [j.evidence.probe.prompt.filler_lines for j in references] == list(LINES)
    assert [(j.evidence.probe.trial.series, j.evidence.probe.trial.number) for j in references] == [
        (SERIES, 1),
        (SERIES, 2),
        (SERIES, 3),
    ]
    assert {j.evidence.probe.trial.arm for j in references} == {Arm.REFERENCE}
    assert [len(wave.probes) for wave in played.waves] == [1] * 3 + [6, 1, 1, 1] * 8
    checks = played.of(Role.CHECK)
    assert len(checks) == 3 * 8
    for index, check in enumerate(checks):
        reference, probe = references[index % 3], check.evidence.probe
        assert probe.prompt.is_replay
        assert probe.prompt.ask is Ask.ONE_FACT
        assert check.evidence.prompt.text_sha256 == reference.evidence.prompt.text_sha256
        assert probe.tenant == reference.evidence.probe.tenant
        assert (probe.trial.series, probe.trial.number, probe.trial.arm) == (SERIES, index % 3 + 1, Arm.CHECK)


def test_the_load_is_another_tenants_short_and_longer_prompts():
    """More than the 50 requests from which SGLang issue #23020 got worse pass before the last look."""
    played = played_against(sound)
    load = [probe for probe in played.probes if probe.role is Role.NEIGHBOUR]
    checkers = {j.evidence.probe.tenant for j in played.of(Role.CHECK)}
    assert checkers.isdisjoint(probe.tenant for probe in load)
    assert {probe.prompt.tokens for probe in load} == {None, 1_024}
    assert all(probe.trial is None for probe in load)
    assert played.probes.index(played.of(Role.CHECK)[-1].evidence.probe) > 70


def test_a_hit_is_confirmed_by_load_and_another_look():
    """All of the round is played again, with the references as confirmations."""
    replies = iter([Reply(outcome=Outcome.SUSPECT, reason=Reason.GARBLED)])
    played = played_against(lambda probe, _: next(replies, Reply()) if probe.role is Role.CHECK else Reply(), rounds=1)
    roles = [{probe.role for probe in wave.probes} for wave in played.waves[3:]]
    assert roles == [{Role.NEIGHBOUR}, *[{Role.CHECK}] * 3, {Role.NEIGHBOUR}, *[{Role.CONFIRMATION}] * 3]


def test_a_leak_or_silence_ends_it():
    """On a shared target the first leak is the last probe; three probes without an answer end it anywhere."""
    leaking = played_against(lambda probe, _: LEAK if probe.role is Role.CHECK else Reply(), shared=True)
    assert [j.evidence.probe.role for j in leaking.judgements].count(Role.CHECK) == 1
    silent = played_against(lambda *_: failing(Answer.HANG))
    assert {probe.role for probe in silent.probes} == {Role.REFERENCE}


def test_a_leak_rate_is_excluded_or_said_not_to_be():
    """Rounds go on until the checks suffice; else their number is told."""
    assert played_against(sound).returned == ()
    assert_goes_on_until_excluded(drift)
    assert_says_how_many_are_missing(drift)
