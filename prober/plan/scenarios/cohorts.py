"""Asks one and the same text under several affinity keys: whoever is routed elsewhere answers persistently unlike."""

import dataclasses
import functools
from collections.abc import Sequence

from prober.domain.evidence import Judgement
from prober.domain.fault_kind import FaultKind
from prober.domain.options import Arm, RequestOptions, Trial
from prober.domain.probe import Probe, Role
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.lengths import longer_tokens
from prober.plan.stage import Stage, Waves, scenario

SERIES = "cohorts"

ROUNDS = 4
"""Answers per key and text: three alike make a habit."""


@scenario(FaultKind.MISROUTING, FaultKind.PARTIAL_CONTEXT)
def cohorts(stage: Stage) -> Waves:
    """Ask a short and a longer text once without a key; then, round by round, the same two texts under each key.

    Compared is what a router could get wrong for some sessions only: LLM, build, tokens counted, limits, recall. There
    are as many keys as probes in flight: 8 of them meet one bad replica of 16 with 40 % (detection-science 9.4). Keys
    are new in each run, so that further runs meet further replicas.
    """
    course = Course("cohorts", stage)
    short = course.fact(Role.REFERENCE, course.checker(0))
    longer = course.draft(Role.REFERENCE, course.donor(0), longer_tokens(stage))
    texts = (yield from course.send([short], "ask without an affinity key")) + (
        yield from course.send([longer], "ask without an affinity key")
    )
    keys = _keys(texts, stage.settings.concurrency)
    for number in course.rounds(least=ROUNDS):
        ask = functools.partial(_ask, course, texts, keys, number)
        received = yield from ask(Role.CHECK)
        yield from confirm(course, received, ask)
    return course.shortfall()


def _keys(texts: Sequence[Judgement], count: int) -> Sequence[str]:
    """Name as many keys as wanted after the first text, which no other run has."""
    return [
        f"{SERIES}-{text.evidence.prompt.text_sha256[:8]}-{number + 1}" for text in texts[:1] for number in range(count)
    ]


def _ask(course: Course, texts: Sequence[Judgement], keys: Sequence[str], number: int, role: Role) -> Step:
    received: tuple[Judgement, ...] = ()
    for text in texts:
        probes = [_keyed(course, text, key, number, role) for key in keys]
        received += yield from course.together(probes, "ask the same under each affinity key")
    return received


def _keyed(course: Course, text: Judgement, key: str, number: int, role: Role) -> Probe:
    probe = course.replay(text, text.evidence.probe.tenant, role)
    trial = Trial(series=SERIES, number=number + 1, arm=Arm.CHECK, cohort=key)
    return dataclasses.replace(probe, options=RequestOptions(session=key), trial=trial)
