"""The circuit breaker's decision: a target that answers only errors is probed at a trickle."""

import dataclasses
import datetime as dt
import itertools
from collections.abc import Sequence
from typing import Final

from prober.domain.answer import Answer
from prober.domain.breaker import Admission, BreakerState, RunHealth
from prober.domain.campaign import Trigger

DOWN_ANSWERS: Final = frozenset(
    {
        Answer.UNREACHABLE,
        Answer.UNAUTHORISED,
        Answer.NOT_FOUND,
        Answer.SERVER_ERROR,
        Answer.BUSY,
        Answer.HANG,
    }
)
"""Errors of the target or of our access to it. What is malformed may hold a leak, and a refusal by form or length is
an answer."""

OPENS_AFTER: Final = 3
"""Runs without any answer, one after the other: one may be a restart, two a deployment that failed."""

FIRST_WAIT: Final = dt.timedelta(minutes=5)
LONGEST_WAIT: Final = dt.timedelta(hours=1)
"""The wait doubles with each further such run up to here, so that a repaired target is noticed within the hour."""

MOST_RUNS: Final = OPENS_AFTER + (LONGEST_WAIT // FIRST_WAIT).bit_length()
"""Latest runs to look at: from here on the wait grows no more."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """Where a target's breaker stands."""

    state: BreakerState
    failures: int
    """Latest runs without any answer, one after the other; at most `MOST_RUNS` are counted."""
    retry_at: dt.datetime | None = None
    """When the wait ends; None unless OPEN."""


def breaker(latest: Sequence[RunHealth], now: dt.datetime) -> Breaker:
    """Judge a target by its latest runs, newest first; runs in which nothing was sent say nothing and are left out.

    After a clock was stepped back the latest run seems to lie ahead: then the wait counts as over, since one cheap
    probe too many is better than a target that nobody looks at.
    """
    failed = list(itertools.takewhile(lambda run: not run.has_answered, latest))
    if len(failed) < OPENS_AFTER:
        return Breaker(state=BreakerState.CLOSED, failures=len(failed))
    ended_at = failed[0].ended_at
    retry_at = ended_at + wait_after(len(failed))
    if ended_at <= now < retry_at:
        return Breaker(state=BreakerState.OPEN, failures=len(failed), retry_at=retry_at)
    return Breaker(state=BreakerState.HALF_OPEN, failures=len(failed))


def wait_after(failures: int) -> dt.timedelta:
    """Wait from the end of the latest of so many runs without any answer, at least `OPENS_AFTER`."""
    doublings = min(failures, MOST_RUNS) - OPENS_AFTER
    return min(FIRST_WAIT * (1 << doublings), LONGEST_WAIT)


def admission(standing: Breaker, trigger: Trigger) -> Admission:
    """Let everything through but scheduled runs against an OPEN breaker: people and rollouts have their reasons."""
    if trigger is not Trigger.SCHEDULE or standing.state is not BreakerState.OPEN:
        return Admission(is_admitted=True, state=standing.state)
    return Admission(
        is_admitted=False,
        state=standing.state,
        note=f"target down: nothing but errors in its latest {standing.failures} runs; next probe from "
        f"{standing.retry_at:%Y-%m-%d %H:%M:%S} UTC",
        retry_at=standing.retry_at,
    )
