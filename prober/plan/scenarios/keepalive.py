"""Hangs up milliseconds after sending, then asks many short questions over connections that are kept alive."""

import dataclasses
import functools

from prober.domain.fault_kind import FaultKind
from prober.domain.probe import ConnectionPolicy, Probe, Role
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.hangups import Lifetime, early_hang_up, lifetime
from prober.plan.stage import Stage, Waves, scenario

MOST_SECONDS = 0.05
"""Replies were left on a connection by cancellations within milliseconds after the request was written: OpenAI's
incident of 20 March 2023, redis-py #2624 and #2665."""

HANG_UPS = 2
"""Per round: two in flight occupy two of the gateway's own connections."""


@scenario(FaultKind.CONNECTION_DESYNC, FaultKind.MISDELIVERY)
def keepalive(stage: Stage) -> Waves:
    """Warm every tenant's connection up; then, round by round, cancel two requests and burst questions of all tenants.

    Each answer names its question: a reply left behind shows as the answer to the one before, whoever asked it.
    """
    course = Course("keepalive", stage)
    warming = [_kept(course.fact(Role.REFERENCE, tenant)) for tenant in stage.tenants]
    life = lifetime((yield from course.send(warming, "warm the connections up")))
    for number in course.rounds():
        play = functools.partial(_round, course, life, number)
        received = yield from play(Role.CHECK)
        yield from confirm(course, received, play)
    return course.shortfall()


def _round(course: Course, life: Lifetime, number: int, role: Role) -> Step:
    stage = course.stage
    cancelled = [
        dataclasses.replace(
            _kept(course.fact(Role.NEIGHBOUR, course.donor(turn))), disconnect=early_hang_up(turn, life, MOST_SECONDS)
        )
        for turn in range(number * HANG_UPS, (number + 1) * HANG_UPS)
    ]
    burst = [
        _kept(course.fact(role, stage.tenants[(number + turn) % len(stage.tenants)]))
        for turn in range(stage.settings.concurrency)
    ]
    received = yield from course.together(cancelled, "hang up right after sending")
    return received + (yield from course.together(burst, "ask many short questions on warm connections"))


def _kept(probe: Probe) -> Probe:
    return dataclasses.replace(probe, connection=ConnectionPolicy.SHARED)
