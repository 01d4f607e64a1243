"""Two tenants ask nearly the same, or under the same request id: each must get its own answer."""

import dataclasses
import functools

from prober.domain.fault_kind import FaultKind
from prober.domain.options import Arm, RequestOptions, Trial
from prober.domain.probe import Probe, Role, SharedText
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.lengths import FACT_LINES, lines_within, small_tokens
from prober.plan.stage import Stage, Waves, scenario

SHARED_TIMES = 6
"""Shared lines per line of its own: similar enough for a semantic cache (0.9085 in semantic-router #2134), and more
than the first 64 tokens by which some caches name a prompt."""

PAIRS = 2
"""Pairs with a common request id that are asked at once, where so many may be in flight."""


@scenario(FaultKind.CACHE_KEY, FaultKind.RESPONSE_CACHE, FaultKind.MISDELIVERY)
def twins(stage: Stage) -> Waves:
    """In each round: pairs under one request id at once; near twins in turn, without salts and with; the same text.

    The later one of a pair is another tenant's, and its fact is its own: whoever gets the earlier one's is told apart.
    """
    course = Course("twins", stage)
    for number in course.rounds():
        for variant in (_same_id, _near, _salted, _same_text):
            play = functools.partial(variant, course, number)
            received = yield from play(Role.CHECK)
            yield from confirm(course, received, play)
    return course.shortfall()


def _same_id(course: Course, number: int, role: Role) -> Step:
    """Ask at once under one id: what is kept by the client's id is kept for two."""
    probes: list[Probe] = []
    trial = _trial(course, "same_id")
    # A pair that is split over two waves is not asked at once.
    for turn in range(min(PAIRS, course.stage.settings.concurrency // 2)):
        options = RequestOptions(request_id=f"{course.scenario}-{trial.number}-{turn}")
        pair = (course.fact(role, course.donor(number)), course.fact(role, course.checker(number)))
        probes += (dataclasses.replace(probe, options=options, trial=trial) for probe in pair)
    return (yield from course.together(probes, "ask at once under one request id"))


def _near(course: Course, number: int, role: Role) -> Step:
    """Ask the same long beginning, with another fact at the end."""
    return (yield from _in_turn(course, "near", number, role, RequestOptions(), RequestOptions()))


def _salted(course: Course, number: int, role: Role) -> Step:
    """Ask likewise, each with a salt of its own."""
    first, second = (RequestOptions(cache_salt=f"{course.scenario}-{number}-{whose}") for whose in ("one", "other"))
    return (yield from _in_turn(course, "salted", number, role, first, second))


def _in_turn(
    course: Course, variant: str, number: int, role: Role, first: RequestOptions, second: RequestOptions
) -> Step:
    lines = _shared_lines(course.stage)
    trial = _trial(course, variant, Arm.PRIME)
    shared = SharedText(source=None, lines=lines)
    prime = course.fact(Role.NEIGHBOUR, course.donor(number), lines + FACT_LINES, shared=shared)
    prime = dataclasses.replace(prime, options=first, trial=trial)
    primed = yield from course.send([prime], "ask what a twin will ask")
    if not primed:
        return ()
    shared = SharedText(source=primed[0].evidence.prompt.canary, lines=lines)
    twin = course.fact(role, course.checker(number), lines + FACT_LINES, shared=shared)
    twin = dataclasses.replace(twin, options=second, trial=dataclasses.replace(trial, arm=Arm.CHECK))
    return primed + (yield from course.send([twin], "ask nearly the same for another tenant"))


def _same_text(course: Course, number: int, role: Role) -> Step:
    """Ask one and the same text for two tenants: whatever repeats more than the text is a cache without tenant."""
    trial = _trial(course, "same_text", Arm.PRIME)
    prime = dataclasses.replace(course.fact(Role.NEIGHBOUR, course.donor(number)), trial=trial)
    primed = yield from course.send([prime], "ask what another tenant will ask")
    if not primed:
        return ()
    again = course.replay(primed[0], course.checker(number), role, dataclasses.replace(trial, arm=Arm.CHECK))
    return primed + (yield from course.send([again], "ask the same for another tenant"))


def _trial(course: Course, variant: str, arm: Arm = Arm.CHECK) -> Trial:
    """Begin a trial of its own, for a confirmation too: its fellows share text, or an id, with nobody else's."""
    return Trial(series=f"twins/{variant}", number=len(course.judgements) + 1, arm=arm)


def _shared_lines(stage: Stage) -> int:
    most = lines_within(small_tokens(stage), stage.calibration)
    return max(FACT_LINES, min(SHARED_TIMES * FACT_LINES, most - FACT_LINES))
