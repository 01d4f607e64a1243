"""Timed prefills."""

from collections.abc import Generator

from prober.domain.answer import Answer
from prober.domain.evidence import WaveEvidence
from prober.domain.probe import Role, Wave
from prober.plan.anchoring import anchor, anchor_again, is_anchored
from prober.plan.course import Course
from tests.support.scripted import FIRST_REJECTED, Reply, failing, play, stage_of, target_of


def test_anchors_never_wait_for_each_other():
    """As many as set, one per wave, at the large size, by donors."""
    course = Course("x", stage_of(target_of()))
    played = play(anchor(course), target_of(), lambda *_: Reply())
    assert [len(wave.probes) for wave in played.waves] == [1] * 5
    assert {probe.prompt.tokens for probe in played.probes} == {FIRST_REJECTED // 4}
    assert {probe.role for probe in played.probes} == {Role.ANCHOR}
    assert {probe.tenant for probe in played.probes} == set(course.cast.donors)
    assert len(played.returned) == 5


def test_prefills_are_timed_anew_as_often_as_a_floor_needs():
    """Three, the fewest that a floor is claimed on, each alone, at the same size."""
    course = Course("x", stage_of(target_of(), anchor_probes=9))
    played = play(anchor_again(course), target_of(), lambda *_: Reply())
    assert [len(wave.probes) for wave in played.waves] == [1] * 3
    assert {(probe.role, probe.prompt.tokens) for probe in played.probes} == {(Role.ANCHOR, FIRST_REJECTED // 4)}


def test_a_course_that_is_over_gets_no_anchors():
    """A target that stopped answering is not timed."""
    course = Course("x", stage_of(target_of()))
    played = play(anchor(course), target_of(), lambda *_: failing(Answer.HANG))
    assert len(played.probes) == 3


def test_the_latest_judgement_tells_whether_the_run_is_anchored():
    """Unknown before the first answer, no while timings are missing, yes with a full set."""
    course = Course("x", stage_of(target_of()))
    assert not is_anchored(course)

    def steps() -> Generator[Wave, WaveEvidence, object]:
        yield from anchor(course)
        states.append(is_anchored(course))
        yield from course.send([course.draft(Role.CHECK, course.checker(0), 5_000)], "one more")
        states.append(is_anchored(course))

    states: list[bool] = []
    play(steps(), target_of(), lambda *_: Reply())
    assert states == [False, True]
