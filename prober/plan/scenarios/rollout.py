"""Asks the references of the latest earlier run again, across whatever was rolled out since, and leaves new ones."""

import dataclasses
import functools
from collections.abc import Mapping

from prober.domain.evidence import Judgement
from prober.domain.fault_kind import FaultKind
from prober.domain.mark import AnswerMark
from prober.domain.options import Arm, Trial
from prober.domain.probe import Probe, Role
from prober.domain.tenant import Tenant
from prober.plan.confirm import confirm
from prober.plan.course import Course, Step
from prober.plan.lengths import FACT_LINES, lines_within, small_tokens
from prober.plan.stage import Stage, Waves, scenario

SERIES = "rollout"

LINES = (FACT_LINES, FACT_LINES, 12, 24, 48, 96)
"""Filler lines of each reference, by its number: their texts stay the same, whatever tokens count after a rollout.

The shortest come first: what is wrong since the start shows in the plainest question (vLLM #57156).
"""


@scenario(FaultKind.WRONG_SESSION, FaultKind.NUMERIC_CORRUPTION)
def rollout(stage: Stage) -> Waves:
    """Ask the earlier references first, before anything else warms the target up; then send new ones, to be kept."""
    course = Course("rollout", stage)
    earlier = _earlier(stage)
    again = functools.partial(_again, course, earlier)
    missing = _without_reference(earlier)
    for _ in course.rounds(least=1):
        received = yield from again(Role.CHECK)
        missing = missing or _changed(earlier, received)
        yield from confirm(course, received, again)
    for number in _numbers(stage):
        probe = _plan(course, number, stage.tenants[number % len(stage.tenants)], Arm.REFERENCE)
        yield from course.send([probe], "send references for the next run")
    return (*missing, *course.shortfall())


def _earlier(stage: Stage) -> dict[int, AnswerMark]:
    """References of the latest earlier run that were answered, by number, in the numbers' order."""
    marks = {
        mark.trial.number: mark
        for mark in stage.reference
        if mark.trial is not None
        and (mark.trial.series, mark.trial.arm) == (SERIES, Arm.REFERENCE)
        and mark.answer.is_served
        and 0 < mark.trial.number <= len(LINES)
    }
    return dict(sorted(marks.items()))


def _again(course: Course, earlier: Mapping[int, AnswerMark], role: Role) -> Step:
    """Replay each earlier reference by itself, for the tenant who sent it, should that one still be there."""
    received: tuple[Judgement, ...] = ()
    for number, mark in earlier.items():
        tenant = next((t for t in course.stage.tenants if t.number == mark.tenant_number), course.checker(number))
        probe = _plan(course, number, tenant, Arm.CHECK)
        spec = dataclasses.replace(probe.prompt, rewrite_of=mark.canary)
        probe = dataclasses.replace(probe, role=role, prompt=spec)
        received += yield from course.send([probe], "ask an earlier reference again")
    return received


def _plan(course: Course, number: int, tenant: Tenant, arm: Arm) -> Probe:
    probe = course.fact(Role.REFERENCE, tenant, LINES[number - 1])
    return dataclasses.replace(probe, trial=Trial(series=SERIES, number=number, arm=arm))


def _numbers(stage: Stage) -> list[int]:
    """Choose the references that are sure to be served."""
    most = lines_within(small_tokens(stage), stage.calibration)
    return [number for number, lines in enumerate(LINES, 1) if lines <= most]


def _without_reference(earlier: Mapping[int, AnswerMark]) -> tuple[str, ...]:
    if earlier:
        return ()
    return ("No earlier run left references that rollout could ask again; those of this run are for the next one.",)


def _changed(earlier: Mapping[int, AnswerMark], received: tuple[Judgement, ...]) -> tuple[str, ...]:
    """Say that texts came out otherwise than before, so that their answers cannot be compared."""
    texts = {mark.text_sha256 for mark in earlier.values()}
    changed = sum(judgement.evidence.prompt.text_sha256 not in texts for judgement in received)
    if not changed:
        return ()
    message = (
        f"{changed} of the {len(earlier)} references of the earlier run could not be asked again word for word: it "
        "composed them otherwise (another text_form, or another version of the prober)."
    )
    return (message,)
