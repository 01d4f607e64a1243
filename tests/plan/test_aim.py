"""Hitting a length to the token."""

import dataclasses

import pytest

from prober.domain.answer import Answer
from prober.domain.canary import Canary
from prober.domain.probe import Probe, Role
from prober.domain.target import Target
from prober.plan.aim import MAX_REWRITES, aim
from prober.plan.course import Course
from prober.prompt.tokens import Calibration
from tests.support.scripted import (
    FIRST_REJECTED,
    LEAK,
    REJECTED,
    TOO_FAST,
    Count,
    Reply,
    Respond,
    failing,
    inexact_calibration,
    noisy,
    play,
    sent_size,
    serving_below,
    stage_of,
    target_of,
)

TOKENS = 500_000
UNCONFIRMED = dataclasses.replace(LEAK, is_confirmed=False)


def aimed(
    respond: Respond,
    count: Count,
    *,
    calibration: Calibration | None = None,
    slack: int = 0,
    course: Course | None = None,
    target: Target | None = None,
):
    course = course or Course("x", stage_of(target or target_of(), calibration=calibration))
    probe = course.draft(Role.CHECK, course.checker(0), TOKENS)
    return play(aim(course, probe, "aim", slack), course.stage.target, respond, count=count, tolerance=4_000)


def test_exact_counting_needs_one_probe():
    """Where every count is predicted to the token there is nothing to correct."""
    assert len(aimed(lambda *_: Reply(), sent_size).probes) == 1


@pytest.mark.parametrize("reply", [Reply(), REJECTED])
def test_a_miss_is_corrected_by_rewriting_the_same_text(reply: Reply):
    """The second text has the first one's canary and tenant, pads adjusted by the miss, and is exact."""
    played = aimed(lambda *_: reply, noisy(900), calibration=inexact_calibration())
    first, second = played.judgements
    assert second.evidence.probe.prompt.rewrite_of == first.evidence.prompt.canary
    assert second.evidence.probe.tenant == first.evidence.probe.tenant
    counted = [
        j.evidence.observation.usage.prompt_tokens or j.evidence.observation.refusal.stated_tokens
        for j in played.judgements
    ]
    assert counted[0] != TOKENS
    assert counted[1] == TOKENS
    assert played.returned == tuple(played.judgements)


def test_adjustments_add_up():
    """A tokenizer that merges pad words is met by further rounds, each on top of the one before."""

    def stubborn(probe: Probe, _canary: Canary) -> int:
        return TOKENS + 80 + round(0.9 * probe.prompt.pad_adjust)

    played = aimed(lambda *_: Reply(), stubborn, calibration=inexact_calibration())
    assert [probe.prompt.pad_adjust for probe in played.probes] == [0, -80, -88, -89]


def test_aiming_ends_after_three_rewrites():
    """A count that never settles is given up."""
    wobbling = iter(range(10, 100, 10))
    played = aimed(lambda *_: Reply(), lambda *_: TOKENS + next(wobbling), calibration=inexact_calibration())
    assert len(played.probes) == 1 + MAX_REWRITES


@pytest.mark.parametrize(("slack", "probes"), [(49, 2), (50, 1)])
def test_near_enough_is_enough(slack: int, probes: int):
    """A miss within the slack is not corrected."""

    def count(probe: Probe, _canary: Canary) -> int:
        return TOKENS + 50 + probe.prompt.pad_adjust

    assert len(aimed(lambda *_: Reply(), count, calibration=inexact_calibration(), slack=slack).probes) == probes


@pytest.mark.parametrize("reply", [UNCONFIRMED, TOO_FAST, failing(Answer.HANG), Reply(is_counted=False)])
def test_a_new_hit_or_a_missing_count_ends_the_aiming(reply: Reply):
    """A hit deserves its re-probe at once, and without a count there is nothing to correct."""
    assert len(aimed(lambda *_: reply, noisy(900), calibration=inexact_calibration()).probes) == 1


def test_hits_no_longer_interrupt_once_one_is_confirmed():
    """After a confirmed violation the boundary itself is of interest, where the target may be probed on."""
    course = Course("x", stage_of(target_of(), calibration=inexact_calibration()))
    course.has_confirmed_violation = True
    assert len(aimed(lambda *_: LEAK, noisy(900), course=course).probes) == 2


def test_a_confirmed_violation_ends_the_aiming_on_a_shared_target():
    """Where real customers are, no second text follows a confirmed violation."""
    target = target_of(shared=True)
    assert len(aimed(lambda *_: LEAK, noisy(900), calibration=inexact_calibration(), target=target).probes) == 1


def test_a_miss_beyond_the_pad_is_left_as_it_is():
    """More pad words than the text has cannot be taken away."""
    played = aimed(lambda *_: Reply(), lambda *_: TOKENS + 9_000, calibration=inexact_calibration())
    assert len(played.probes) == 1


def test_aiming_at_a_target_that_must_be_left_alone_sends_nothing():
    """A course that is over returns no judgement."""
    course = Course("x", stage_of(target_of(), calibration=inexact_calibration()))
    course.max_probes = 0
    played = aimed(serving_below(FIRST_REJECTED), noisy(9), course=course)
    assert played.probes == []
    assert played.returned == ()
