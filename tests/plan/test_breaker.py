"""When a target that answers only errors is probed again."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.answer import Answer
from prober.domain.breaker import BreakerState, RunHealth
from prober.domain.campaign import Trigger
from prober.plan.breaker import (
    DOWN_ANSWERS,
    FIRST_WAIT,
    LONGEST_WAIT,
    MOST_RUNS,
    OPENS_AFTER,
    Breaker,
    admission,
    breaker,
    wait_after,
)

NOON = dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)


def runs(*answered: bool, ended_at: dt.datetime = NOON) -> list[RunHealth]:
    """Runs, newest first, a minute apart."""
    return [
        RunHealth(ended_at=ended_at - number * dt.timedelta(minutes=1), has_answered=each)
        for number, each in enumerate(answered)
    ]


DOWN = runs(*[False] * OPENS_AFTER)
ANSWERED = RunHealth(ended_at=NOON, has_answered=True)


def test_it_opens_after_three_runs_of_nothing_but_errors():
    """A restart or a failed deployment stops nothing; what lasts does."""
    for failures in range(OPENS_AFTER):
        assert breaker([*runs(*[False] * failures), ANSWERED, *DOWN], NOON).state is BreakerState.CLOSED
    assert breaker(DOWN, NOON).state is BreakerState.OPEN


def test_nothing_known_is_closed():
    """A new target is probed."""
    assert breaker([], NOON) == Breaker(state=BreakerState.CLOSED, failures=0)


def test_one_answer_closes_it():
    """The newest run decides, whatever came before."""
    assert breaker([ANSWERED, *DOWN], NOON).state is BreakerState.CLOSED


def test_it_is_open_until_the_wait_is_over_and_half_open_then():
    """The wait is counted from the end of the latest run, to the second."""
    retry_at = NOON + FIRST_WAIT
    assert breaker(DOWN, retry_at - SECOND) == Breaker(state=BreakerState.OPEN, failures=3, retry_at=retry_at)
    assert breaker(DOWN, retry_at) == Breaker(state=BreakerState.HALF_OPEN, failures=3)


def test_waits_double_up_to_an_hour():
    """A target that stays down costs one cheap probe an hour; one that is back is noticed within the hour."""
    minutes = [wait_after(failures) // dt.timedelta(minutes=1) for failures in range(OPENS_AFTER, 20)]
    assert minutes[:6] == [5, 10, 20, 40, 60, 60]
    assert set(minutes[5:]) == {60}
    assert wait_after(MOST_RUNS) == LONGEST_WAIT > wait_after(MOST_RUNS - 1)


def test_a_clock_stepped_back_lets_one_probe_through():
    """A run that seems to end in the future must not keep the target unwatched until then."""
    assert breaker(DOWN, NOON - dt.timedelta(hours=1)).state is BreakerState.HALF_OPEN


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.ROLLOUT])
def test_people_and_rollouts_always_go_through(trigger: Trigger):
    """Somebody who asks has a reason; the state is told all the same."""
    asked = admission(breaker(DOWN, NOON), trigger)
    assert asked.is_admitted
    assert (asked.state, asked.note, asked.retry_at) == (BreakerState.OPEN, "", None)


def test_a_scheduled_run_waits_and_is_told_why():
    """The note that stands with the missed slot names the cause and the next probe."""
    asked = admission(breaker(DOWN, NOON), Trigger.SCHEDULE)
    assert not asked.is_admitted
    assert asked.note == (
        "target down: nothing but errors in its latest 3 runs; next probe from 2026-12-01 12:05:00 UTC"
    )
    assert asked.retry_at == NOON + FIRST_WAIT


@pytest.mark.parametrize("now", [NOON + FIRST_WAIT, NOON - FIRST_WAIT])
def test_a_scheduled_run_goes_through_half_open(now: dt.datetime):
    """The trickle."""
    assert admission(breaker(DOWN, now), Trigger.SCHEDULE).is_admitted


def test_answers_are_errors_only_where_the_target_said_nothing_of_the_prompt():
    """A rejection is an answer, and what is malformed may hold a leak: neither ever opens the breaker."""
    assert {Answer.UNREACHABLE, Answer.UNAUTHORISED, Answer.SERVER_ERROR, Answer.BUSY, Answer.HANG} <= DOWN_ANSWERS
    assert not {answer for answer in Answer if answer.is_served or answer.is_rejected} & DOWN_ANSWERS
    assert not {Answer.MALFORMED, Answer.ABANDONED, Answer.TOO_MANY_BYTES, Answer.REFUSED_OTHERWISE} & DOWN_ANSWERS


@given(st.lists(st.booleans(), max_size=MOST_RUNS), st.integers(-7_200, 7_200))
def test_no_scheduled_run_waits_for_more_than_an_hour(answered: list[bool], seconds: int):
    """Whatever happened, and whatever the clock did, the next probe is within the longest wait."""
    now = NOON + seconds * SECOND
    standing = breaker(runs(*answered), now)
    assert standing.retry_at is None or now < standing.retry_at <= now + LONGEST_WAIT
    assert (standing.retry_at is not None) == (standing.state is BreakerState.OPEN)
