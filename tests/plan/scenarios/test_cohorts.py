"""One text under several affinity keys, against routers that send some of them elsewhere."""

import collections

import pytest

from prober.detect.detectors.cohorts import LEAST_ANSWERS, detect_cohorts
from prober.domain.answer import Answer
from prober.domain.canary import Canary
from prober.domain.finding import Reason
from prober.domain.options import RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role
from prober.plan.scenarios.cohorts import ROUNDS, SERIES, cohorts
from tests.support.judged import (
    Seen,
    assert_goes_on_until_excluded,
    assert_says_how_many_are_missing,
    play_judged,
    reasons,
)
from tests.support.scripted import LEAK, Played, Reply, Respond, failing, play, stage_of, target_of

GARBLED = Reply(outcome=Outcome.SUSPECT, reason=Reason.GARBLED)


def played_against(respond: Respond, *, shared: bool = False, tenants: int = 3, **settings: object) -> Played:
    target = target_of(shared=shared)
    return play(cohorts(stage_of(target, tenants=tenants, **settings)), target, respond)


def sound(_probe: Probe, _tokens: int) -> Reply:
    return Reply()


def is_elsewhere(probe: Probe) -> bool:
    """One session is routed to another build, and stays there."""
    return (probe.options.session or "").endswith("-3")


@pytest.mark.parametrize("rounds", [1, 8])
def test_a_key_that_is_routed_elsewhere_is_told_by_its_habit(rounds: int):
    """Each key answers often enough to have one, however few rounds are set; only the odd one is named."""
    target = target_of()

    def see(probe: Probe, _canary: Canary) -> Seen:
        return Seen(system_fingerprint="fp-other" if is_elsewhere(probe) else "fp")

    played = play_judged(cohorts(stage_of(target, rounds=rounds)), target, see, detect_cohorts)
    found = [j for j in played.judgements if j.outcome is Outcome.SUSPECT]
    assert found
    assert {j.evidence.probe.trial.cohort[-2:] for j in found} == {"-3"}
    assert {reason for _, reason in reasons(played, Outcome.SUSPECT)} == {Reason.COHORT_DIFFERS}


def test_a_key_that_forgets_is_told_by_its_recall():
    """A worse LLM under the same name: enough answers of it and of the others for an exact test."""
    target = target_of()
    played = play_judged(
        cohorts(stage_of(target)), target, lambda probe, _: Seen(is_found=not is_elsewhere(probe)), detect_cohorts
    )
    assert {reason for _, reason in reasons(played, Outcome.SUSPECT)} == {Reason.COHORT_DIFFERS}


def test_replicas_that_answer_alike_are_not_told():
    """Nothing to find, nothing missing."""
    target = target_of()
    played = play_judged(cohorts(stage_of(target)), target, lambda *_: Seen(), detect_cohorts)
    assert reasons(played, Outcome.SUSPECT) == []
    assert played.returned == ()


def test_two_texts_are_asked_without_a_key_and_then_the_same_under_each():
    """A short and a longer one, byte for byte, by the same tenant; all keys at once."""
    played = played_against(sound)
    short, longer = (j.evidence for j in played.of(Role.REFERENCE))
    assert short.probe.options == longer.probe.options == RequestOptions()
    assert short.probe.trial is longer.probe.trial is None
    assert short.probe.tenant != longer.probe.tenant
    assert (short.probe.prompt.tokens, longer.probe.prompt.tokens) == (None, 8_192)
    waves = played.waves[2:]
    assert len(waves) == 2 * ROUNDS
    for index, wave in enumerate(waves):
        text = (short, longer)[index % 2]
        keys = [probe.options.session for probe in wave.probes]
        assert len(set(keys)) == len(keys) == 8
        for probe in wave.probes:
            assert probe.role is Role.CHECK
            assert probe.prompt.is_replay
            assert probe.prompt.rewrite_of == text.prompt.canary
            assert probe.tenant == text.probe.tenant
            assert (probe.trial.series, probe.trial.cohort) == (SERIES, probe.options.session)
            assert probe.trial.number == index // 2 + 1


@pytest.mark.parametrize("concurrency", [2, 8])
def test_every_key_answers_each_text_often_enough_for_a_habit(concurrency: int):
    """As many keys as requests in flight, the same in all rounds."""
    played = played_against(sound, rounds=1, concurrency=concurrency)
    answers = collections.Counter(
        (j.evidence.probe.trial.cohort, j.evidence.prompt.text_sha256) for j in played.of(Role.CHECK)
    )
    assert len(answers) == 2 * concurrency
    assert min(answers.values()) >= LEAST_ANSWERS


def test_keys_are_new_in_each_run():
    """So that further runs meet further replicas: keys follow from a text that no other run has."""
    runs = [{j.evidence.probe.options.session for j in played_against(sound, tenants=n).of(Role.CHECK)} for n in (2, 4)]
    assert runs[0].isdisjoint(runs[1])
    assert all(key.startswith("cohorts-") for keys in runs for key in keys)


def test_a_hit_is_confirmed_under_all_keys():
    """Whatever key it came under, the same texts are asked again under each."""
    replies = iter([GARBLED])
    played = played_against(lambda probe, _: next(replies, Reply()) if probe.role is Role.CHECK else Reply())
    again = [wave for wave in played.waves if wave.probes[0].role is Role.CONFIRMATION]
    assert [[probe.options.session for probe in wave.probes] for wave in again] == [
        [probe.options.session for probe in wave.probes] for wave in played.waves[2:4]
    ]


def test_a_leak_or_silence_ends_it():
    """On a shared target the first leak is in the last wave; a target that does not answer is asked under no key."""
    leaking = played_against(lambda probe, _: LEAK if is_elsewhere(probe) else Reply(), shared=True)
    assert len(leaking.waves) == 3
    at_once = played_against(lambda *_: LEAK, shared=True)
    assert len(at_once.probes) == 1
    silent = played_against(lambda *_: failing(Answer.HANG))
    assert len(silent.waves) == 3


def test_a_leak_rate_is_excluded_or_said_not_to_be():
    """Rounds go on until the checks suffice; else their number is told."""
    assert_goes_on_until_excluded(cohorts)
    assert_says_how_many_are_missing(cohorts)
