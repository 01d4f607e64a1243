"""Drafting, sending, counting and stopping."""

import dataclasses

import pytest

from prober.domain.answer import Answer
from prober.domain.canary import Canary
from prober.domain.options import Arm, Malformation, RequestOptions, Trial
from prober.domain.outcome import Outcome
from prober.domain.probe import (
    ConnectionPolicy,
    Disconnect,
    DisconnectMoment,
    Expectation,
    PromptSpec,
    Role,
    SharedText,
)
from prober.domain.target import Ask, Target
from prober.plan.course import MAX_CHECKS_SHARE, PATIENCE, THINKING_OUTPUT_TOKENS, Course
from prober.plan.lengths import FACT_LINES
from prober.plan.trials import checks_for
from tests.support.scripted import (
    ABANDONED,
    FIRST_REJECTED,
    LEAK,
    REFUSED,
    REJECTED,
    TOO_FAST,
    Reply,
    Respond,
    exact_calibration,
    failing,
    inexact_calibration,
    play,
    stage_of,
    target_of,
)


def course_of(target: Target | None = None, **settings: object) -> Course:
    return Course("x", stage_of(target or target_of(), **settings))


def test_parts_are_played_in_turn():
    """Donors and checkers rotate."""
    course = course_of(tenants=4)
    assert [course.donor(number).number for number in range(3)] == [0, 1, 0]
    assert [course.checker(number).number for number in range(3)] == [2, 3, 2]


def test_over_limit_probes_cap_their_output_even_for_thinking_targets():
    """Only probes that surely fit may think at length."""
    course = course_of(target_of(thinking=True))
    tenant = course.checker(0)
    assert course.draft(Role.CHECK, tenant, 10_000).max_output_tokens == THINKING_OUTPUT_TOKENS
    assert course.draft(Role.CHECK, tenant, FIRST_REJECTED).max_output_tokens == 64
    assert course_of().draft(Role.CHECK, tenant, 10_000).max_output_tokens == 64


def test_drafts_are_never_too_small_to_compose():
    """A length below the smallest prompt is raised to it."""
    course = course_of()
    assert course.draft(Role.CHECK, course.checker(0), 1).prompt.tokens == exact_calibration().smallest_tokens


def test_expectations_near_a_limit_are_open_where_counting_is_inexact():
    """An inexact count near the limit expects either; a length learned to the token expects what is due."""
    course = course_of(calibration=inexact_calibration())
    probe = course.draft(Role.CHECK, course.checker(0), FIRST_REJECTED)
    assert probe.expectation is Expectation.EITHER
    again = course.redraft(probe, PromptSpec(tokens=FIRST_REJECTED, pad_adjust=-3))
    assert again.expectation is Expectation.REJECT
    assert again.label != probe.label


def test_inexact_donors_at_the_verified_size_are_still_expected_to_be_served():
    """With the pool unknown, inexact counting does not turn the baseline's own size into an open question."""
    unknown = target_of(prefill_pool_tokens=None)
    course = course_of(unknown, calibration=inexact_calibration(), baseline_tokens=200_000)
    assert course.draft(Role.DONOR, course.donor(0), 200_000).expectation is Expectation.SERVE


def send(course: Course, count: int, respond: Respond):
    probes = [course.draft(Role.CHECK, course.checker(0), FIRST_REJECTED) for _ in range(count)]
    return play(course.send(probes, "test"), course.stage.target, respond)


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (Answer.HANG, PATIENCE),
        (Answer.BUSY, PATIENCE),
        (Answer.UNAUTHORISED, PATIENCE),
        (Answer.SERVER_ERROR, PATIENCE),
        (Answer.UNREACHABLE, PATIENCE),
        (Answer.TOO_MANY_BYTES, 6),
        (Answer.STARVED, 6),
    ],
)
def test_a_target_that_does_not_answer_is_left_alone(answer: Answer, sent: int):
    """Three probes in a row without an answer end the sending; a proxy's size limit does not."""
    course = course_of()
    assert len(send(course, 6, lambda *_: failing(answer)).probes) == sent
    assert course.must_stop is (sent == PATIENCE)


def test_patience_is_restored_by_an_answer():
    """Only failures in a row count."""
    replies = iter([failing(Answer.HANG), failing(Answer.HANG), REJECTED] * 3)
    assert len(send(course_of(), 9, lambda *_: next(replies)).probes) == 9


@pytest.mark.parametrize(("shared", "sent"), [(True, 1), (False, 3)])
def test_a_shared_target_is_left_alone_after_a_confirmed_violation(*, shared: bool, sent: int):
    """Where real customers are, one confirmed violation ends the sending; elsewhere it goes on."""
    course = course_of(target_of(shared=shared))
    assert len(send(course, 3, lambda *_: LEAK).probes) == sent


def test_a_course_ends_at_its_probe_bound():
    """No more probes are sent than allowed."""
    course = course_of()
    course.max_probes = 2
    played = send(course, 5, lambda *_: Reply())
    assert len(played.probes) == len(played.returned) == 2


def test_many_short_probes_go_together():
    """As many as the settings allow are in flight at once."""
    course = course_of(concurrency=5)
    probes = [course.fact(Role.CHECK, course.checker(number)) for number in range(12)]
    played = play(course.together(probes, "test"), course.stage.target, lambda *_: Reply())
    assert [len(wave.probes) for wave in played.waves] == [5, 5, 2]
    assert played.probes == probes
    assert tuple(played.judgements) == played.returned


def test_a_fact_is_a_short_question_planned_by_its_lines():
    """It has the target's text form, asks for one fact, and is expected to be served."""
    probe = course_of().fact(Role.NEIGHBOUR, course_of().donor(0))
    assert probe.prompt == PromptSpec(filler_lines=FACT_LINES, form=target_of().text_form, ask=Ask.ONE_FACT)
    assert probe.expectation is Expectation.SERVE
    assert course_of().fact(Role.CHECK, course_of().checker(0), lines=50_000).expectation is Expectation.REJECT


def test_a_prompt_has_room_for_the_text_it_shares():
    """However small it is asked to be, its own filler stands beside the shared lines."""
    course = course_of()
    shared = SharedText(source=None, lines=30)
    probe = course.draft(Role.CHECK, course.checker(0), 1, shared=shared)
    assert probe.prompt.shared == shared
    assert probe.prompt.tokens > exact_calibration().smallest_tokens + 29 * 17
    assert course.fact(Role.CHECK, course.checker(0), 40, shared=shared).prompt.shared == shared


def test_a_replay_sends_the_same_text_for_anyone():
    """Same plan under the same canary; what was particular to the first sending falls away."""
    course = course_of()
    first = dataclasses.replace(
        course.fact(Role.NEIGHBOUR, course.donor(0)),
        disconnect=Disconnect(moment=DisconnectMoment.MID_STREAM),
        start_offset_seconds=2.0,
        options=RequestOptions(request_id="one", session="s"),
        connection=ConnectionPolicy.SHARED,
    )
    (judgement,) = play(course.send([first], "test"), course.stage.target, lambda *_: Reply()).returned
    trial = Trial(series="x/1", number=1, arm=Arm.CHECK)
    again = course.replay(judgement, course.checker(0), Role.CHECK, trial)
    assert again.prompt == dataclasses.replace(first.prompt, rewrite_of=judgement.evidence.prompt.canary)
    assert again.prompt.is_replay
    assert (again.tenant, again.role, again.trial) == (course.checker(0), Role.CHECK, trial)
    assert (again.disconnect, again.start_offset_seconds) == (None, 0.0)
    assert again.options == RequestOptions(session="s")
    assert again.connection is ConnectionPolicy.SHARED
    assert again.label != first.label
    assert isinstance(again.prompt.rewrite_of, Canary)


def hung_up_or_broken(course: Course):
    fact = course.fact(Role.NEIGHBOUR, course.donor(0))
    return [
        dataclasses.replace(fact, label="x/a", disconnect=Disconnect(moment=DisconnectMoment.MID_STREAM)),
        dataclasses.replace(fact, label="x/b", options=RequestOptions(malformation=Malformation.BROKEN_JSON)),
    ]


def test_what_we_ask_for_ourselves_is_no_silence_and_no_life():
    """Hang-ups of ours and due refusals neither wear patience out nor restore it."""
    course = course_of()
    for _ in range(2 * PATIENCE):
        play(
            course.send(hung_up_or_broken(course), "test"),
            target_of(),
            lambda p, _: ABANDONED if p.disconnect else REFUSED,
        )
    assert not course.must_stop
    send(course, PATIENCE - 1, lambda *_: failing(Answer.HANG))
    play(
        course.send(hung_up_or_broken(course), "test"), target_of(), lambda p, _: ABANDONED if p.disconnect else REFUSED
    )
    assert not course.must_stop
    send(course, 1, lambda *_: failing(Answer.HANG))
    assert course.must_stop


def test_a_broken_request_that_hangs_is_silence():
    """A refusal that never comes is not what was asked for."""
    course = course_of()
    for _ in range(PATIENCE):
        play(course.send(hung_up_or_broken(course)[1:], "test"), target_of(), lambda *_: failing(Answer.HANG))
    assert course.must_stop


@pytest.mark.parametrize(("answers", "sent"), [((Answer.HANG, Answer.HANG), 2), ((Answer.HANG, None), 2), ((None,), 1)])
def test_a_silent_target_is_still_seen_alive_or_not(answers: tuple[Answer | None, ...], sent: int):
    """After a storm in which nothing came back a plain generation is sent all the same, and again if that fails."""
    course = course_of()
    send(course, PATIENCE, lambda *_: failing(Answer.HANG))
    assert course.must_stop
    replies = iter(answers)
    played = play(course.see_alive(), target_of(), lambda *_: failing(a) if (a := next(replies)) else Reply())
    assert len(played.probes) == sent
    for probe in played.probes:
        assert (probe.role, probe.prompt.ask, probe.prompt.filler_lines) == (Role.LIVENESS, Ask.ONE_FACT, FACT_LINES)
        assert probe.tenant in course.cast.checkers


def test_a_shared_target_that_leaked_is_not_even_seen_alive():
    """Nothing at all follows a confirmed violation there."""
    course = course_of(target_of(shared=True))
    send(course, 1, lambda *_: LEAK)
    assert play(course.see_alive(), target_of(), lambda *_: Reply()).probes == []


def rounds_of(course: Course, respond: Respond, least: int | None = None) -> int:
    """Play rounds of one check each; returns how many there were."""
    number = -1
    for number in course.rounds(least):  # noqa: B007 - the last number counts them
        send(course, 1, respond)
    return number + 1


def test_rounds_are_as_many_as_set():
    """Without a rate to exclude the settings, or the scenario, say how many."""
    assert rounds_of(course_of(rounds=5), lambda *_: REJECTED) == 5
    assert rounds_of(course_of(rounds=5), lambda *_: REJECTED, least=2) == 2
    assert course_of(rounds=5).shortfall() == ()


def test_rounds_go_on_until_a_leak_rate_is_excluded():
    """As many clean checks as exclude the rate at 95 % are made, and no sentence remains to be said."""
    course = course_of(rounds=2, excluded_leak_rate=0.1)
    assert rounds_of(course, lambda *_: REJECTED) == checks_for(0.1) == course.clean_checks
    assert course.shortfall() == ()


def test_checks_that_tell_nothing_are_made_up_for_within_a_bound():
    """Every second check is inconclusive: twice as many are sent, and no more."""
    replies = iter([REJECTED, Reply(outcome=Outcome.INCONCLUSIVE)] * 100)
    course = course_of(rounds=2, excluded_leak_rate=0.1)
    rounds_of(course, lambda *_: next(replies))
    assert course.clean_checks == checks_for(0.1)
    course = course_of(rounds=2, excluded_leak_rate=0.1)
    assert rounds_of(course, lambda *_: Reply(outcome=Outcome.INCONCLUSIVE)) == MAX_CHECKS_SHARE * checks_for(0.1)
    assert "29 are missing" in course.shortfall()[0]


def test_rounds_end_early_where_nothing_more_can_be_learned():
    """A dead target, a leak that stands, and rounds without a check end them; what is missing is said."""
    dead = course_of(rounds=9, excluded_leak_rate=0.1)
    assert rounds_of(dead, lambda *_: failing(Answer.HANG)) == PATIENCE
    assert dead.shortfall() != ()
    leaking = course_of(rounds=2, excluded_leak_rate=0.1)
    assert rounds_of(leaking, lambda *_: LEAK) == 2
    reproduced = course_of(rounds=2, excluded_leak_rate=0.1)
    reproduced.is_hit_reproduced = True
    assert rounds_of(reproduced, lambda *_: TOO_FAST) == 2
    idle = course_of(rounds=2, excluded_leak_rate=0.1)
    assert list(idle.rounds()) == [0, 1]
