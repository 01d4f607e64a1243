"""References across a rollout."""

import dataclasses

from prober.domain.answer import Answer
from prober.domain.mark import AnswerMark
from prober.domain.options import Arm
from prober.domain.probe import Probe, Role
from prober.domain.target import Target
from prober.plan.scenarios.rollout import LINES, SERIES, rollout
from tests.support.marks import marks_of
from tests.support.scripted import LEAK, Played, Reply, Respond, play, stage_of, target_of

TARGET = target_of()
UNCONFIRMED = dataclasses.replace(LEAK, is_confirmed=False)


def sound(_probe: Probe, _tokens: int) -> Reply:
    return Reply()


def played_against(
    respond: Respond = sound, reference: tuple[AnswerMark, ...] = (), *, target: Target = TARGET, **settings: object
) -> Played:
    return play(rollout(stage_of(target, reference=reference, **settings)), target, respond)


def earlier_marks() -> tuple[AnswerMark, ...]:
    return marks_of(played_against().judgements)


def test_the_first_run_says_that_there_is_nothing_to_compare_with():
    """It leaves references for the next one, of all tenants, the shortest first, one at a time."""
    played = played_against()
    assert "No earlier run left references" in played.returned[0]
    assert {probe.role for probe in played.probes} == {Role.REFERENCE}
    assert {probe.tenant.number for probe in played.probes} == {0, 1, 2}
    assert [probe.prompt.filler_lines for probe in played.probes] == list(LINES)
    assert all(len(wave.probes) == 1 for wave in played.waves)
    trials = [probe.trial for probe in played.probes]
    assert [(trial.series, trial.number, trial.arm) for trial in trials] == [
        (SERIES, number, Arm.REFERENCE) for number in range(1, len(LINES) + 1)
    ]


def test_earlier_references_are_asked_again_before_anything_else():
    """Word for word, by the same tenants, under the same numbers; then new references are left."""
    marks = earlier_marks()
    played = played_against(reference=marks)
    assert played.returned == ()
    replays = played.judgements[: len(marks)]
    for mark, judgement in zip(marks, replays, strict=True):
        probe = judgement.evidence.probe
        assert probe.role is Role.CHECK
        assert probe.prompt.rewrite_of == mark.canary
        assert judgement.evidence.prompt.text_sha256 == mark.text_sha256
        assert probe.tenant.number == mark.tenant_number
        assert probe.trial == dataclasses.replace(mark.trial, arm=Arm.CHECK)
    assert [probe.role for probe in played.probes[len(marks) :]] == [Role.REFERENCE] * len(LINES)


def test_replays_of_an_earlier_run_are_no_references():
    """Of a run that compared, only its own references count the next time; what was not served never does."""
    second = played_against(reference=earlier_marks())
    third = played_against(reference=marks_of(second.judgements))
    fresh = [j.evidence.prompt.canary for j in second.of(Role.REFERENCE)]
    assert [probe.prompt.rewrite_of for probe in third.probes if probe.role is Role.CHECK] == fresh
    unserved = tuple(dataclasses.replace(mark, answer=Answer.HANG) for mark in earlier_marks())
    assert played_against(reference=unserved).of(Role.CHECK) == []
    others = tuple(dataclasses.replace(mark, trial=None) for mark in earlier_marks())
    assert played_against(reference=others).of(Role.CHECK) == []


class WarmStore:
    """After a restart, what the store kept is mapped to wrong content; what is new is sound."""

    def __call__(self, probe: Probe, _tokens: int) -> Reply:
        return UNCONFIRMED if probe.prompt.is_replay else Reply()


def test_a_store_that_outlived_the_restart_wrongly_is_met_and_confirmed_by_replays():
    """New text would be sound: the confirmation asks the same references once more."""
    played = played_against(WarmStore(), earlier_marks())
    assert len(played.of(Role.CHECK)) == len(played.of(Role.CONFIRMATION)) == len(LINES)
    assert all(j.evidence.probe.prompt.is_replay for j in played.of(Role.CONFIRMATION))


def test_a_target_that_answers_nonsense_after_its_start_is_met_by_the_shortest():
    """The first probes after a rollout are the plainest ones."""
    played = played_against(lambda *_: LEAK, earlier_marks(), target=target_of(shared=True))
    assert len(played.probes) == 1
    assert played.probes[0].prompt.filler_lines == min(LINES)


def test_texts_that_come_out_otherwise_are_reported():
    """An earlier version composed them in another way: their answers cannot be compared."""
    marks = tuple(
        dataclasses.replace(mark, text_sha256="0" * 64) if mark.trial.number < 3 else mark for mark in earlier_marks()
    )
    (sentence,) = played_against(reference=marks, rounds=3).returned
    assert sentence.startswith("2 of the 6 references")


def test_a_tenant_that_is_gone_is_stood_in_for():
    """Its reference is asked by a checker."""
    marks = tuple(dataclasses.replace(mark, tenant_number=99) for mark in earlier_marks())
    played = played_against(reference=marks)
    assert {j.evidence.probe.tenant.number for j in played.of(Role.CHECK)} == {1, 2}


def test_references_fit_small_targets():
    """Only lengths that are sure to be served are sent."""
    small = target_of(context_tokens=2_048, prefill_pool_tokens=None)
    played = played_against(target=small)
    assert [probe.prompt.filler_lines for probe in played.probes] == [lines for lines in LINES if lines <= 20]


def test_a_rate_to_exclude_asks_them_again_and_again():
    """References are few; more checks of them are more rounds."""
    played = played_against(sound, earlier_marks(), excluded_leak_rate=0.2)
    assert len(played.of(Role.CHECK)) == 18
    assert played.returned == ()
