"""Fills the target's pools with attributable text, so that a stale page has something to show."""

from collections.abc import Generator

from prober.domain.evidence import WaveEvidence
from prober.domain.probe import Role, Wave
from prober.plan.confirm import confirm
from prober.plan.course import Course
from prober.plan.lengths import donor_tokens, seed_tokens
from prober.plan.limits import counted_tokens
from prober.plan.packing import MAX_WAVE_PROBES

MAX_DONOR_ROUNDS = 2
"""Times the needed number of donors that may be sent before seeding is given up as it stands."""

MAX_DONORS = 128
"""Prompts far smaller than the pools would need thousands; a pool that large is not filled by one tenant's probing."""


def seed(course: Course, longest: int) -> Generator[Wave, WaveEvidence, int]:
    """Send donors, two at a time, until enough canaried tokens went through for an over-limit probe of `longest`.

    Returns:
        Tokens that were really processed; fewer than wanted when the target refuses donors or must be left alone.
    """
    wanted = seed_tokens(course.stage, longest)
    size = donor_tokens(course.stage)
    allowed = min(MAX_DONORS, MAX_DONOR_ROUNDS * -(-wanted // size))
    seeded = sent = 0
    while seeded < wanted and sent < allowed and not course.must_stop:
        count = min(MAX_WAVE_PROBES, -(-(wanted - seeded) // size), allowed - sent)
        donors = [course.draft(Role.DONOR, course.donor(sent + number), size) for number in range(count)]
        received = yield from course.send(donors, "seed the pools with attributable text")
        sent += count
        seeded += sum(counted_tokens(judgement) or 0 for judgement in received if judgement.evidence.answer.is_served)
        yield from confirm(course, received)
    return seeded


def shortfall(course: Course, longest: int, seeded: int) -> tuple[str, ...]:
    """Say that donors were served, yet too few for an over-limit probe of `longest` to show anything.

    Nothing is said of a scenario that had to stop: its judgements tell why.
    """
    wanted = seed_tokens(course.stage, longest)
    if seeded >= wanted or course.must_stop:
        return ()
    message = (
        f"Only {seeded:,} of the {wanted:,} tokens of canary text went through that {course.scenario} needs, so pages "
        "may have been read in which no leak could show; larger donors (donor_tokens) fill the pools."
    )
    return (message,)
