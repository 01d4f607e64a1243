"""Probes again right after a first hit: what shows twice is no accident of timing or wording."""

from collections.abc import Callable, Generator, Sequence

from prober.domain.evidence import Judgement, WaveEvidence
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Role, Wave
from prober.domain.tenant import Tenant
from prober.plan.anchoring import anchor_again
from prober.plan.course import Course, Step
from prober.plan.limits import counted_tokens, is_hit


def confirm(
    course: Course, judgements: Sequence[Judgement], provoke: Callable[[Role], Step] | None = None
) -> Generator[Wave, WaveEvidence, tuple[Judgement, ...]]:
    """Probe the first new hit among `judgements` again, with fresh text and, where there is one, another checker.

    Nothing is sent when the target must be left alone, as a shared one once a violation stands confirmed. Two
    violations in a row confirm each other. Where speed is all that speaks against the answer, prefills are timed anew
    first, so that the second answer is held against the target as it is now.

    Args:
        course: the scenario under way.
        judgements: of the step that may have hit.
        provoke: plays the provoking step once more, its checks in the role given, where a prompt by itself would not
            show the fault again; None: a fresh prompt of the hit's length does.
    """
    hit = next(filter(course.is_new_hit, judgements), None)
    if hit is None or course.must_stop:
        return ()
    if _is_only_fast(hit):
        yield from anchor_again(course)
        if course.must_stop:
            return ()
    received = yield from (_fresh(course, hit) if provoke is None else provoke(Role.CONFIRMATION))
    course.is_hit_reproduced = any(map(is_hit, received))
    if hit.outcome is Outcome.VIOLATION and any(again.outcome is Outcome.VIOLATION for again in received):
        course.has_confirmed_violation = True
    return received


def _is_only_fast(hit: Judgement) -> bool:
    """A floor from timings was undercut, and nothing else makes it a hit."""
    reasons = {finding.reason for finding in hit.findings if finding.outcome.rank >= Outcome.SUSPECT.rank}
    return reasons == {Reason.PREFILL_TOO_FAST} and bool(hit.evidence.history.anchors)


def _fresh(course: Course, hit: Judgement) -> Step:
    probe = course.draft(Role.CONFIRMATION, _other_checker(course, hit), counted_tokens(hit) or 0)
    return (yield from course.send([probe], "confirm the first hit with a fresh prompt"))


def _other_checker(course: Course, hit: Judgement) -> Tenant:
    first = hit.evidence.probe.tenant
    return next((tenant for tenant in course.cast.checkers if tenant != first), course.checker(0))
