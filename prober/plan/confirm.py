"""Sends one fresh re-probe right after a first hit: what shows twice is no accident of timing or wording."""

from collections.abc import Generator, Sequence

from prober.domain.evidence import Judgement, WaveEvidence
from prober.domain.outcome import Outcome
from prober.domain.probe import Role, Wave
from prober.domain.tenant import Tenant
from prober.plan.course import Course
from prober.plan.limits import counted_tokens, is_hit


def confirm(course: Course, judgements: Sequence[Judgement]) -> Generator[Wave, WaveEvidence, tuple[Judgement, ...]]:
    """Re-probe the first new hit among `judgements`, with fresh text and, where there is one, another checker.

    Nothing is sent when the target must be left alone, as a shared one once a violation stands confirmed. Two
    violations in a row confirm each other.
    """
    hit = next(filter(course.is_new_hit, judgements), None)
    if hit is None or course.must_stop:
        return ()
    tokens = counted_tokens(hit)
    probe = course.draft(Role.CONFIRMATION, _other_checker(course, hit), tokens or 0)
    received = yield from course.send([probe], "confirm the first hit with a fresh prompt")
    course.is_hit_reproduced = any(map(is_hit, received))
    if received and all(judgement.outcome is Outcome.VIOLATION for judgement in (hit, *received)):
        course.has_confirmed_violation = True
    return received


def _other_checker(course: Course, hit: Judgement) -> Tenant:
    first = hit.evidence.probe.tenant
    return next((tenant for tenant in course.cast.checkers if tenant != first), course.checker(0))
