"""Casting, drafting, packing and stopping."""

import pytest

from prober.domain.evidence import Answer
from prober.domain.probe import Expectation, PromptSpec, Role
from prober.domain.target import Target
from prober.plan.course import MAX_WAVE_TOKENS, PATIENCE, THINKING_OUTPUT_TOKENS, Course, cast, pack
from tests.support.scripted import (
    FIRST_REJECTED,
    LEAK,
    REJECTED,
    Reply,
    Respond,
    exact_calibration,
    failing,
    inexact_calibration,
    play,
    stage_of,
    target_of,
    tenants_of,
)


def course_of(target: Target | None = None, **settings: object) -> Course:
    return Course("x", stage_of(target or target_of(), **settings))


@pytest.mark.parametrize(("tenants", "donors"), [(2, 1), (3, 1), (4, 2), (5, 2)])
def test_casting_never_mixes_donors_and_checkers(tenants: int, donors: int):
    """Every tenant has one part, donors and checkers both exist, and checkers are no fewer."""
    parts = cast(tenants_of(tenants))
    assert len(parts.donors) == donors
    assert (*parts.donors, *parts.checkers) == tenants_of(tenants)


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


def test_packing_bounds_waves():
    """Waves hold two probes at most, 3M tokens at most, and an over-limit probe alone; order is kept."""
    course = course_of(target_of(context_tokens=4_000_000, prefill_pool_tokens=4_000_000))
    sizes = [1_000, 1_000, 2_000_000, 1_500_000, 1_000, 4_000_001, 1_000, 4_000_001, 4_000_001]
    probes = [course.draft(Role.CHECK, course.checker(0), size) for size in sizes]
    waves = list(pack(probes, "test"))
    assert [probe for wave in waves for probe in wave.probes] == probes
    assert [len(wave.probes) for wave in waves] == [2, 1, 2, 1, 1, 1, 1]
    for wave in waves:
        over = [probe.is_over_limit for probe in wave.probes]
        assert over == [True] or not any(over)
        assert any(over) or sum(probe.prompt.tokens for probe in wave.probes) <= MAX_WAVE_TOKENS


def test_packing_nothing_gives_no_wave():
    """An empty wave is never yielded."""
    assert list(pack([], "test")) == []


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
