"""Asks the same again, byte for byte, after somebody else's prompt: A, X, A."""

import dataclasses
import functools
from collections.abc import Sequence

from prober.domain.evidence import Judgement
from prober.domain.fault_kind import FaultKind
from prober.domain.options import Arm, Trial
from prober.domain.probe import Probe, Role, SharedText
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.lengths import lines_within, small_tokens
from prober.plan.stage import Stage, Waves, scenario

_ALIKE = 2
"""A's that share a preamble: those of the first checker."""


@scenario(FaultKind.WRONG_SESSION, FaultKind.BLOCK_TABLE_RACE)
def replay(stage: Stage) -> Waves:
    """Send each of several A's once, undisturbed; then in rounds each again, after an X of another tenant or beside it.

    In every second round they go one by one, so that an A meets what the X before it left. In the others they go
    together, so that short X's leave the batch while A's are still being answered.
    """
    course = Course("replay", stage)
    originals = yield from _originals(course)
    for number in course.rounds():
        size = stage.settings.concurrency // 2 if number % 2 else 1
        for first in range(0, len(originals), size):
            again = functools.partial(_again, course, originals[first : first + size], number // 2 + first)
            received = yield from again(Role.CHECK)
            yield from confirm(course, received, again)
    return course.shortfall()


def _originals(course: Course) -> Step:
    """Send each A by itself. The first two are one tenant's and begin alike; lengths lie on both sides of a page."""
    stage = course.stage
    size, page = small_tokens(stage), stage.target.page_tokens
    lines = lines_within(size, stage.calibration, stage.target.ask) // 2
    received: tuple[Judgement, ...] = ()
    for index, tokens in enumerate((size, size, size // page * page + 1, size // 2 // page * page + page - 1)):
        tenant = course.checker(max(0, index - 1))
        source = received[0].evidence.prompt.canary if received else None
        shared = SharedText(source=source, lines=lines) if index < _ALIKE else None
        probe = course.draft(Role.REFERENCE, tenant, tokens, shared=shared)
        trial = Trial(series=f"replay/{index + 1}", number=1, arm=Arm.REFERENCE)
        received += yield from course.send([dataclasses.replace(probe, trial=trial)], "ask for the first time")
    return received


def _again(course: Course, originals: Sequence[Judgement], number: int, role: Role) -> Step:
    """Send an X before each A: by itself where there is one A only, else all together."""
    disturbing = [_disturbing(course, number + index) for index in range(len(originals))]
    replays = [
        course.replay(original, original.evidence.probe.tenant, role, _check(original)) for original in originals
    ]
    if len(originals) == 1:
        received = yield from course.send(disturbing, "let another tenant ask something else")
        return received + (yield from course.send(replays, "ask the same again"))
    return (yield from course.together((*disturbing, *replays), "ask the same again beside others"))


def _disturbing(course: Course, number: int) -> Probe:
    """Plan an X: of the smallest size, then of an A's, in turn."""
    donor = course.donor(number)
    if number % 2:
        return course.draft(Role.NEIGHBOUR, donor, small_tokens(course.stage))
    return course.fact(Role.NEIGHBOUR, donor)


def _check(original: Judgement) -> Trial | None:
    trial = original.evidence.probe.trial
    return None if trial is None else dataclasses.replace(trial, arm=Arm.CHECK)
