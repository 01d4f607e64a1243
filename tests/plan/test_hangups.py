"""When to hang up."""

import pytest

from prober.domain.answer import Answer
from prober.domain.probe import Disconnect, DisconnectMoment, Role
from prober.plan.course import Course
from prober.plan.hangups import (
    LARGEST_SHARE,
    LEAST_SECONDS,
    MOMENTS,
    MOST_SECONDS,
    SMALLEST_SHARE,
    Lifetime,
    delay,
    due_seconds,
    early_hang_up,
    hang_up,
    lifetime,
)
from tests.support.scripted import Reply, judge, stage_of, target_of

UNKNOWN = Lifetime()
QUICK = Lifetime(first_token=0.004, end=0.009)
SLOW = Lifetime(first_token=8.0, end=20.0)


@pytest.mark.parametrize("count", [8, 24, 100])
def test_however_many_delays_cover_the_sweep(count: int):
    """No gap on the logarithmic scale is wider than three even steps, whenever the sweep ends."""
    steps = sorted(delay(number, 1.0, 10.0**count) for number in range(count))
    assert steps[0] >= 1.0
    assert steps[-1] < 10.0**count
    assert all(later / earlier < 10.0**3 for earlier, later in zip(steps, [*steps[1:], 10.0**count], strict=True))


def test_unknown_targets_get_one_millisecond_to_ten_seconds():
    """Without a timing the delays are those of upstream's reports, at every moment of a request's life."""
    for moment in MOMENTS:
        plans = [hang_up(moment, number, UNKNOWN) for number in range(40)]
        assert {plan.moment for plan in plans} == {moment}
        seconds = [plan.after_seconds for plan in plans]
        assert LEAST_SECONDS <= min(seconds) < 2 * LEAST_SECONDS
        assert MOST_SECONDS / 2 < max(seconds) <= MOST_SECONDS


@pytest.mark.parametrize("life", [QUICK, SLOW])
@pytest.mark.parametrize("moment", MOMENTS)
def test_timed_targets_are_met_in_the_middle_of_a_phase(life: Lifetime, moment: DisconnectMoment):
    """A hang-up in the prefill comes before the usual first token, one in the answer before its usual end."""
    for number in range(20):
        plan = hang_up(moment, number, life)
        due = due_seconds(plan, life)
        phase = life.end - life.first_token if plan.moment is DisconnectMoment.MID_STREAM else life.first_token
        assert plan.after_seconds <= LARGEST_SHARE * phase * 1.000_001
        assert plan.after_seconds >= min(LEAST_SECONDS, SMALLEST_SHARE * LARGEST_SHARE * phase) * 0.999_999
        assert due < (life.end if plan.moment is DisconnectMoment.MID_STREAM else life.first_token)


def test_an_answer_without_a_timed_end_still_gets_a_sweep():
    """The stream's duration is then unknown, the first token is not."""
    plan = hang_up(DisconnectMoment.MID_STREAM, 1, Lifetime(first_token=0.5))
    assert due_seconds(plan, Lifetime(first_token=0.5)) == pytest.approx(0.5 + plan.after_seconds)
    assert due_seconds(plan, UNKNOWN) == plan.after_seconds


def test_early_hang_ups_keep_to_their_bound():
    """Before the headers, and not later than asked, nor than the usual first token."""
    for life, most in ((UNKNOWN, 0.05), (SLOW, 0.05), (QUICK, LARGEST_SHARE * QUICK.first_token)):
        plans = [early_hang_up(number, life, 0.05) for number in range(40)]
        assert {plan.moment for plan in plans} == {DisconnectMoment.BEFORE_HEADERS}
        assert all(0 < plan.after_seconds <= most for plan in plans)
        assert max(plan.after_seconds for plan in plans) > most / 2
    assert isinstance(plans[0], Disconnect)


def test_the_quickest_answer_served_tells_the_lifetime():
    """What was not served, or not timed, tells nothing."""
    target = target_of()
    course = Course("x", stage_of(target))
    replies = [
        Reply(first_token_seconds=0.4, end_seconds=0.9),
        Reply(first_token_seconds=0.3, end_seconds=1.1),
        Reply(),
        Reply(answer=Answer.HANG, first_token_seconds=0.1, end_seconds=0.2),
    ]
    probe = course.fact(Role.REFERENCE, course.donor(0))
    judgements = [judge(target, probe, 200, reply) for reply in replies]
    assert lifetime(judgements) == Lifetime(first_token=0.3, end=0.9)
    assert lifetime(judgements[2:]) == UNKNOWN
