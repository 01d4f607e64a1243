"""Sends constrained, biased and budgeted requests of one tenant beside free ones of another: each keeps its own."""

import dataclasses
import functools

from prober.domain.answer import Answer
from prober.domain.fault_kind import FaultKind
from prober.domain.options import RequestOptions
from prober.domain.probe import Probe, Role
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.lengths import small_tokens
from prober.plan.stage import Stage, Waves, scenario

CHOICES = (
    ("4071 5526 9938", "8213 6640 1175"),
    ("3390 7748 2016", "5564 1892 6037"),
    (
        "3323 5082 3439 4827 4164 3704 2107 2396 4761 3298 6280 1626 8440 3866 2584 5991",
        "3693 9830 6397 5128 7476 8652 2734 9374 6973 8210 1451 5354 6104 3978 7948 1565",
    ),
)
"""What constrained answers may say, in turn: digits, which no free answer is made of but one about numbered lines.
Short ones leave while free answers are being written, long ones are still there when a free answer begins."""

FAVOURED_TOKENS = (1_000, 2_500, 4_000)
"""Token ids that get a bias, in turn. What they read like is not known, and need not be."""

BIASED_EVERY = 3
"""One neighbour in so many is biased, the others are constrained."""

BIASED_OUTPUT_TOKENS = 8
"""A biased answer repeats its token until it is cut: soon, so that its row too is given on while free ones go on."""


REASONING_BUDGETS = (13, 15, 17)
"""Tokens of reasoning that neighbours of a thinking LLM may use, one figure per wave, in turn: far fewer than it takes
by itself, and more than an empty thought with its marks."""

BUDGETED_EVERY = 2
"""One neighbour in so many has a budget, where the target thinks."""

BUDGETED_OUTPUT_TOKENS = 4
"""Such an answer is cut in its reasoning: a free one that is moved into its row has not reasoned longer than the
budget by then, whenever it came."""

LEAST_ALONE = 6
"""Free questions asked by themselves of a thinking LLM: how long it reasons undisturbed has to be known."""


@scenario(FaultKind.ROW_STATE, FaultKind.STRAY_TOKENS)
def mixed_parameters(stage: Stage) -> Waves:
    """Show undisturbed that free questions are answered; then send half constrained and half free, in one wave each.

    Most constrained and biased answers are short, so that free ones are still being written when those leave the batch.
    A thinking target is shown undisturbed what each reasoning budget does as well.
    """
    course = Course("mixed_parameters", stage)
    alone = max(stage.settings.concurrency, LEAST_ALONE if stage.target.thinking else 0)
    free = [_free(course, turn, Role.REFERENCE) for turn in range(alone)]
    yield from course.send(free, "ask free questions by themselves")
    for number in range(len(REASONING_BUDGETS) if stage.target.thinking else 0):
        if not _are_budgets_refused(course):
            bound = _budgeted(course, number, Role.REFERENCE)
            yield from course.send([bound], "ask with a reasoning budget by itself")
    for number in course.rounds():
        mix = functools.partial(_mix, course, number)
        received = yield from mix(Role.CHECK)
        yield from confirm(course, received, mix)
    return course.shortfall() + _without_budgets(course)


def _mix(course: Course, number: int, role: Role) -> Step:
    half = course.stage.settings.concurrency // 2
    neighbours = [_neighbour(course, number, number * half + turn) for turn in range(half)]
    free = [_free(course, number * half + turn, role) for turn in range(half)]
    # Constrained ones first: a batch fills the row of one that leaves with the last one that came.
    return (yield from course.together((*neighbours, *free), "ask free questions beside constrained ones"))


def _neighbour(course: Course, number: int, turn: int) -> Probe:
    if course.stage.target.thinking:
        if turn % BUDGETED_EVERY and not _are_budgets_refused(course):
            probe = _budgeted(course, number, Role.NEIGHBOUR)
            return dataclasses.replace(probe, max_output_tokens=min(BUDGETED_OUTPUT_TOKENS, probe.max_output_tokens))
        turn //= BUDGETED_EVERY
    probe = course.fact(Role.NEIGHBOUR, course.donor(turn))
    if turn % BIASED_EVERY == BIASED_EVERY - 1:
        favoured = FAVOURED_TOKENS[turn // BIASED_EVERY % len(FAVOURED_TOKENS)]
        most = min(BIASED_OUTPUT_TOKENS, probe.max_output_tokens)
        return dataclasses.replace(probe, max_output_tokens=most, options=RequestOptions(favoured_token=favoured))
    constrained = turn - turn // BIASED_EVERY
    return dataclasses.replace(probe, options=RequestOptions(choices=CHOICES[constrained % len(CHOICES)]))


def _budgeted(course: Course, number: int, role: Role) -> Probe:
    budget = REASONING_BUDGETS[number % len(REASONING_BUDGETS)]
    return dataclasses.replace(course.fact(role, course.donor(number)), options=RequestOptions(reasoning_budget=budget))


def _free(course: Course, turn: int, role: Role) -> Probe:
    """Plan a free question of a checker: with a long answer and a short one in turn."""
    if turn % 2:
        return course.fact(role, course.checker(turn))
    return course.draft(role, course.checker(turn), small_tokens(course.stage) // 2)


def _are_budgets_refused(course: Course) -> bool:
    """Some inference servers refuse fields that they do not know: then none are sent any more."""
    return any(
        judgement.evidence.answer is Answer.REFUSED_OTHERWISE
        and judgement.evidence.probe.options.reasoning_budget is not None
        for judgement in course.judgements
    )


def _without_budgets(course: Course) -> tuple[str, ...]:
    if not _are_budgets_refused(course):
        return ()
    return (f"{course.scenario}: the target refuses reasoning budgets; whether they stay with their own is not known.",)
