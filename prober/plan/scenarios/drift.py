"""Asks the same few references again and again while other requests pass: what is known at first must stay known."""

import dataclasses
import functools
from collections.abc import Sequence

from prober.domain.evidence import Judgement
from prober.domain.fault_kind import FaultKind
from prober.domain.options import Arm, Trial
from prober.domain.probe import Probe, Role
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.lengths import small_tokens
from prober.plan.stage import Stage, Waves, scenario

SERIES = "drift"
LINES = (4, 8, 16)
"""Filler lines of the references."""


@scenario(FaultKind.NUMERIC_CORRUPTION)
def drift(stage: Stage) -> Waves:
    """Ask the references by themselves, then, in each round, after some load again, each by itself."""
    course = Course("drift", stage)
    references = yield from _first(course)
    for number in course.rounds():
        look = functools.partial(_look, course, references, number)
        received = yield from look(Role.CHECK)
        yield from confirm(course, received, look)
    return course.shortfall()


def _first(course: Course) -> Step:
    received: tuple[Judgement, ...] = ()
    for number, lines in enumerate(LINES, 1):
        trial = Trial(series=SERIES, number=number, arm=Arm.REFERENCE)
        probe = dataclasses.replace(course.fact(Role.REFERENCE, course.checker(number), lines), trial=trial)
        received += yield from course.send([probe], "ask a reference for the first time")
    return received


def _look(course: Course, references: Sequence[Judgement], number: int, role: Role) -> Step:
    """Accuracy of SGLang issue #23020 fell from 50 requests on: looks are spread over all that the scenario sends."""
    load = [_passing(course, number + turn) for turn in range(course.stage.settings.concurrency * 3 // 4)]
    received = yield from course.together(load, "let other requests pass")
    for place, reference in enumerate(references, 1):
        trial = Trial(series=SERIES, number=place, arm=Arm.CHECK)
        again = course.replay(reference, reference.evidence.probe.tenant, role, trial)
        received += yield from course.send([again], "ask a reference again")
    return received


def _passing(course: Course, turn: int) -> Probe:
    donor = course.donor(turn)
    if turn % 4:
        return course.fact(Role.NEIGHBOUR, donor)
    return course.draft(Role.NEIGHBOUR, donor, small_tokens(course.stage) // 2)
