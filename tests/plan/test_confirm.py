"""The fresh re-probe after a first hit."""

import dataclasses
from collections.abc import Generator

import pytest

from prober.domain.answer import Answer
from prober.domain.evidence import WaveEvidence
from prober.domain.outcome import Outcome
from prober.domain.probe import Role, Wave
from prober.plan.anchoring import anchor
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from tests.support.scripted import FIRST_REJECTED, LEAK, TOO_FAST, Reply, failing, play, stage_of, target_of

UNCONFIRMED = dataclasses.replace(LEAK, is_confirmed=False)
TOKENS = 700_000


def confirmed(first: Reply, second: Reply, *, tenants: int = 3, shared: bool = False):
    """Send one probe, then let `confirm` have its judgement."""
    target = target_of(shared=shared)
    course = Course("x", stage_of(target, tenants=tenants))
    replies = iter([first, second])

    def steps() -> Generator[Wave, WaveEvidence, object]:
        received = yield from course.send([course.draft(Role.CHECK, course.checker(0), TOKENS)], "probe")
        return (yield from confirm(course, received))

    return course, play(steps(), target, lambda *_: next(replies))


@pytest.mark.parametrize("first", [UNCONFIRMED, TOO_FAST])
def test_a_hit_is_probed_again_by_another_checker(first: Reply):
    """The re-probe has the hit's length, a fresh text and another tenant that is no donor."""
    course, played = confirmed(first, Reply())
    check, again = played.probes
    assert again.role is Role.CONFIRMATION
    assert again.prompt == check.prompt
    assert again.prompt.rewrite_of is None
    assert again.tenant != check.tenant
    assert again.tenant in course.cast.checkers
    assert not course.is_hit_reproduced
    assert not course.has_confirmed_violation


def test_with_one_checker_the_same_tenant_probes_again():
    """Two tenants leave one donor and one checker; the donor never confirms."""
    _, played = confirmed(TOO_FAST, Reply(), tenants=2)
    assert played.probes[0].tenant == played.probes[1].tenant


def test_two_violations_in_a_row_confirm_each_other():
    """What shows twice on fresh text is confirmed."""
    course, _ = confirmed(UNCONFIRMED, UNCONFIRMED)
    assert course.has_confirmed_violation
    assert course.is_hit_reproduced


def test_two_suspicions_are_reproduced_but_no_violation():
    """A suspicion seen twice is not probed for ever, and is not called a confirmed violation."""
    course, _ = confirmed(TOO_FAST, TOO_FAST)
    assert course.is_hit_reproduced
    assert not course.has_confirmed_violation


@pytest.mark.parametrize("first", [Reply(), failing(Answer.HANG), Reply(outcome=Outcome.SUSPECT)])
def test_without_a_hit_nothing_is_probed_again(first: Reply):
    """Clean, failed and merely odd answers need no re-probe."""
    _, played = confirmed(first, Reply())
    assert len(played.probes) == 1
    assert played.returned == ()


@pytest.mark.parametrize("shared", [True, False])
def test_a_violation_that_stands_by_itself_is_not_probed_again(*, shared: bool):
    """A decoded canary needs no second one, least of all where real customers are."""
    _, played = confirmed(LEAK, Reply(), shared=shared)
    assert len(played.probes) == 1


def test_a_target_that_must_be_left_alone_gets_no_re_probe():
    """The probe bound holds for re-probes too."""
    target = target_of()
    course = Course("x", stage_of(target))
    course.max_probes = 1

    def steps() -> Generator[Wave, WaveEvidence, object]:
        received = yield from course.send([course.draft(Role.CHECK, course.checker(0), TOKENS)], "probe")
        return (yield from confirm(course, received))

    assert len(play(steps(), target, lambda *_: UNCONFIRMED).probes) == 1
    assert not course.has_confirmed_violation


def timed(first: Reply, *replies: Reply, shared: bool = False):
    """Time prefills, send one probe, then let `confirm` have its judgement."""
    target = target_of(shared=shared)
    course = Course("x", stage_of(target, anchor_probes=3))
    answers = iter([Reply()] * 3 + [first, *replies])

    def steps() -> Generator[Wave, WaveEvidence, object]:
        yield from anchor(course)
        received = yield from course.send([course.draft(Role.CHECK, course.checker(0), TOKENS)], "probe")
        return (yield from confirm(course, received))

    return course, play(steps(), target, lambda *_: next(answers))


def test_what_is_only_fast_is_held_against_the_target_as_it_is_now():
    """Prefills are timed anew before the second answer: the first anchors may all have met one slow spell."""
    course, played = timed(TOO_FAST, Reply(), Reply(), Reply(), TOO_FAST)
    roles = [probe.role for probe in played.probes]
    assert roles == [*[Role.ANCHOR] * 3, Role.CHECK, *[Role.ANCHOR] * 3, Role.CONFIRMATION]
    assert [judgement.evidence.probe.role for judgement in played.returned] == [Role.CONFIRMATION]
    assert len(played.returned[0].evidence.history.anchors[FIRST_REJECTED // 4]) == 6
    assert course.is_hit_reproduced


def test_what_is_wrong_in_itself_is_probed_again_at_once():
    """A leak's pages may be gone in a moment: no prefill is timed before the second probe."""
    _, played = timed(UNCONFIRMED, Reply())
    assert [probe.role for probe in played.probes] == [*[Role.ANCHOR] * 3, Role.CHECK, Role.CONFIRMATION]


def test_a_target_that_stops_answering_is_not_probed_on():
    """Anchors that fail in a row end the scenario, and the hit stays a suspicion."""
    course, played = timed(TOO_FAST, *[failing(Answer.HANG)] * 3)
    assert [probe.role for probe in played.probes][4:] == [Role.ANCHOR] * 3
    assert played.returned == ()
    assert not course.is_hit_reproduced


def provoked(*replies: Reply):
    """Play a step of a neighbour and a check, then confirm it by the step itself."""
    course = Course("x", stage_of(target_of()))
    answers = iter(replies)

    def provoke(role: Role) -> Step:
        neighbour = course.fact(Role.NEIGHBOUR, course.donor(0))
        return (yield from course.together([neighbour, course.fact(role, course.checker(0))], "provoke"))

    def steps() -> Generator[Wave, WaveEvidence, object]:
        received = yield from provoke(Role.CHECK)
        return (yield from confirm(course, received, provoke))

    return course, play(steps(), target_of(), lambda *_: next(answers))


def test_what_a_prompt_alone_would_not_show_is_confirmed_by_its_step():
    """The provoking step is played again with its checks as confirmations; one violation among them confirms."""
    course, played = provoked(Reply(), UNCONFIRMED, Reply(), UNCONFIRMED)
    roles = [probe.role for probe in played.probes]
    assert roles == [Role.NEIGHBOUR, Role.CHECK, Role.NEIGHBOUR, Role.CONFIRMATION]
    assert len({probe.label for probe in played.probes}) == 4
    assert course.has_confirmed_violation
    assert course.is_hit_reproduced


def test_a_step_that_stays_clean_confirms_nothing():
    """What does not show again may be probed again the next time."""
    course, played = provoked(Reply(), UNCONFIRMED, Reply(), Reply())
    assert len(played.probes) == 4
    assert not course.has_confirmed_violation
    assert not course.is_hit_reproduced
    assert len(provoked(Reply(), Reply())[1].probes) == 2
