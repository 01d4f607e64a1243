"""Reads answers for their form: one id, one ending, one opening, and log probabilities of the very same tokens."""

import dataclasses
import functools

from prober.domain.fault_kind import FaultKind
from prober.domain.options import RequestOptions
from prober.domain.probe import Probe, Role
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.lengths import small_tokens
from prober.plan.stage import Stage, Waves, scenario

WHOLE_EVERY, WHOLE = 4, 1
"""Of so many answers, the one of this number from 0 comes whole; the others are streamed."""


@scenario(FaultKind.PROTOCOL_LIE, FaultKind.STRAY_TOKENS)
def stream_contract(stage: Stage) -> Waves:
    """In each round: a streamed and a whole answer, each by itself, then a crowd; all with log probabilities."""
    course = Course("stream_contract", stage)
    for number in course.rounds():
        ask = functools.partial(_ask, course, number)
        received = yield from ask(Role.CHECK)
        yield from confirm(course, received, ask)
    return course.shortfall()


def _ask(course: Course, number: int, role: Role) -> Step:
    streamed, whole = (_told(course.fact(role, course.checker(number + turn)), turn) for turn in (0, WHOLE))
    received = yield from course.send([streamed], "read a streamed answer")
    received += yield from course.send([whole], "read a whole answer")
    crowd = [_told(_question(course, number + turn, role), turn) for turn in range(course.stage.settings.concurrency)]
    return received + (yield from course.together(crowd, "read answers that are written side by side"))


def _question(course: Course, turn: int, role: Role) -> Probe:
    tenants = course.stage.tenants
    tenant = tenants[turn % len(tenants)]
    if turn % 4:
        return course.fact(role, tenant)
    return course.draft(role, tenant, small_tokens(course.stage) // 2)


def _told(probe: Probe, turn: int) -> Probe:
    return dataclasses.replace(probe, stream=turn % WHOLE_EVERY != WHOLE, options=RequestOptions(wants_logprobs=True))
