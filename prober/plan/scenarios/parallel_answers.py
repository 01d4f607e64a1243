"""Asks many different one-fact questions at once: each answer must name its own prompt and nobody else's."""

import dataclasses
import functools
from collections.abc import Sequence

from prober.domain.fault_kind import FaultKind
from prober.domain.options import Arm, Trial
from prober.domain.probe import Probe, Role
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.lengths import small_tokens
from prober.plan.stage import Stage, Waves, scenario

ALONE = 1
LINES = (4, 4, 6, 4, 10, 4, 16, 4)
"""Filler lines of the questions in turn: requests of different lengths join and leave a batch at different times."""

SIZED_EVERY = 5
"""One probe in so many has a length to the token, beside a page's edge or a power of two (vLLM #55600); an odd number,
so that it is every tenant's turn."""


@scenario(FaultKind.MISDELIVERY, FaultKind.HANDOFF_MIX_UP, FaultKind.STRAY_TOKENS, FaultKind.BLOCK_TABLE_RACE)
def parallel_answers(stage: Stage) -> Waves:
    """Ask one at a time first, for comparison; then, round by round, at concurrency 2, 4 and so on to the highest."""
    course = Course("parallel_answers", stage)
    lengths = _edges(stage)
    for number in range(stage.settings.rounds):
        trial = Trial(series=f"parallel/{ALONE}", number=number + 1, arm=Arm.REFERENCE)
        yield from _ask(course, range(number, number + ALONE), lengths, trial, Role.REFERENCE)
    loads = _loads(stage.settings.concurrency)
    asked = 0
    for number in course.rounds():
        load = loads[number % len(loads)]
        trial = Trial(series=f"parallel/{load}", number=number + 1, arm=Arm.CHECK)
        ask = functools.partial(_ask, course, range(asked, asked + load), lengths, trial)
        received = yield from ask(Role.CHECK)
        yield from confirm(course, received, ask)
        asked += load
    return course.shortfall()


def _loads(most: int) -> list[int]:
    """Concurrency of the rounds in turn: 2, 4, 8 and so on, and the highest twice as often as each other one."""
    doubling = [2**power for power in range(1, most.bit_length()) if 2**power < most]
    return [load for step in doubling or [most] for load in (step, most)]


def _edges(stage: Stage) -> Sequence[int]:
    """Lengths of one token above, at and below multiples of a page and powers of two, up to a small prompt's.

    Those above come first: they leave most of their last page, or of a bucket of twice that size, to padding.
    """
    page, smallest, most = stage.target.page_tokens, stage.calibration.smallest_tokens, small_tokens(stage)
    marks = {page * -(-smallest // page) + page * step for step in range(4)}
    marks |= {2**power for power in range(smallest.bit_length(), most.bit_length())}
    lengths = [mark + step for step in (1, 0, -1) for mark in sorted(marks)]
    return [length for length in lengths if smallest <= length <= most] or [smallest]


def _ask(course: Course, turns: range, lengths: Sequence[int], trial: Trial, role: Role) -> Step:
    probes = [dataclasses.replace(_question(course, turn, lengths, role), trial=trial) for turn in turns]
    return (yield from course.together(probes, f"ask short questions, {len(turns)} at once"))


def _question(course: Course, turn: int, lengths: Sequence[int], role: Role) -> Probe:
    """Plan a question of the tenant whose turn it is: a bare fact, or a prompt of a telling length.

    A turn's question has the same shape whenever it is asked, so that a confirmation meets what depends on length.
    """
    tenants = course.stage.tenants
    tenant = tenants[turn % len(tenants)]
    if turn % SIZED_EVERY == SIZED_EVERY - 1:
        return course.draft(role, tenant, lengths[turn // SIZED_EVERY % len(lengths)])
    return course.fact(role, tenant, LINES[turn % len(LINES)])
