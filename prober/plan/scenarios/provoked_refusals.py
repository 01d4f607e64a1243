"""Sends every kind of request that must be refused for its form, each followed by a sound one in its place."""

import dataclasses
import functools

from prober.domain.answer import Answer
from prober.domain.fault_kind import FaultKind
from prober.domain.options import Malformation, RequestOptions
from prober.domain.probe import ConnectionPolicy, Disconnect, DisconnectMoment, Expectation, Probe, Role
from prober.plan.confirm import confirm
from prober.plan.course import PATIENCE, Course, Step
from prober.plan.lengths import small_tokens
from prober.plan.stage import Stage, Waves, scenario


@scenario(FaultKind.REJECTED_BUT_ADMITTED, FaultKind.PROTOCOL_LIE)
def provoked_refusals(stage: Stage) -> Waves:
    """Seed a little, then break one request after the other; each time a sound one follows.

    Both are one tenant's, in one session and on one connection: what a refusal leaves behind, the next turn meets.
    """
    course = Course("provoked_refusals", stage)
    size = small_tokens(stage)
    donors = [course.draft(Role.DONOR, course.donor(number), size) for number in range(stage.settings.rounds)]
    yield from course.send(donors, "seed the pools with attributable text")
    for number in course.rounds(least=1):
        for malformation in Malformation:
            provoke = functools.partial(_provoke, course, malformation, number)
            received = yield from provoke(Role.CHECK)
            yield from confirm(course, received, provoke)
            if _unanswered(course) >= PATIENCE:
                return course.shortfall()
    return course.shortfall()


def _provoke(course: Course, malformation: Malformation, number: int, role: Role) -> Step:
    tenant = course.checker(number)
    session = f"{course.scenario}-{number + 1}"
    size = small_tokens(course.stage)
    broken = _broken(course, course.draft(Role.NEIGHBOUR, tenant, size), malformation, session)
    sound = dataclasses.replace(
        course.draft(role, tenant, size),
        options=RequestOptions(session=session),
        connection=ConnectionPolicy.SHARED,
    )
    received = yield from course.send([broken], f"send a request with {malformation.value}, which is to be refused")
    return received + (yield from course.send([sound], "send a sound request after it"))


def _broken(course: Course, probe: Probe, malformation: Malformation, session: str) -> Probe:
    """Break a request; its answer, should there be one, is capped like that of an over-limit probe.

    An output limit beyond the context window is refused by some inference servers and clamped by others, and some
    generate until the window is full: there only a hang-up caps the answer, of which a million tokens could come.
    """
    is_open = malformation is Malformation.OUTPUT_BEYOND_CONTEXT
    most = course.stage.settings.over_limit_max_output_tokens
    return dataclasses.replace(
        probe,
        expectation=Expectation.EITHER if is_open else Expectation.REJECT,
        max_output_tokens=most,
        disconnect=Disconnect(moment=DisconnectMoment.AFTER_TOKENS, after_tokens=most) if is_open else None,
        options=RequestOptions(session=session, malformation=malformation),
        connection=ConnectionPolicy.SHARED,
    )


def _unanswered(course: Course) -> int:
    """Broken requests that nobody refused: each is waited for until it counts as a hang."""
    return sum(
        judgement.evidence.answer is Answer.HANG and judgement.evidence.probe.options.malformation is not None
        for judgement in course.judgements
    )
