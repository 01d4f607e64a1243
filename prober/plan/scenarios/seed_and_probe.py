"""The incident's shape: some tenants fill the pools, then another one's prompt is longer than the prefill can take."""

from prober.domain.fault_kind import FaultKind
from prober.domain.probe import Role
from prober.plan.aim import aim
from prober.plan.anchoring import anchor, is_anchored
from prober.plan.confirm import confirm
from prober.plan.course import Course
from prober.plan.lengths import over_limit_lengths, seed_tokens
from prober.plan.seeding import seed, shortfall
from prober.plan.stage import Stage, Waves, scenario


@scenario(FaultKind.REJECTED_BUT_ADMITTED, FaultKind.PARTIAL_CONTEXT)
def seed_and_probe(stage: Stage) -> Waves:
    """Seed, time prefills if none are timed yet, then send over-limit probes of a tenant that seeded nothing.

    Over-limit probes go one at a time. The first hit is re-probed at once with fresh text; on a shared target a
    confirmed violation ends the scenario.
    """
    course = Course("seed_and_probe", stage)
    lengths = over_limit_lengths(stage)
    longest = max(lengths, key=lambda length: seed_tokens(stage, length))
    seeded = yield from seed(course, longest)
    missing = shortfall(course, longest, seeded)
    if not is_anchored(course):
        yield from anchor(course)
    for number in range(stage.settings.over_limit_probes):
        if course.must_stop:
            return missing
        length = lengths[number % len(lengths)]
        probe = course.draft(Role.CHECK, course.checker(number), length)
        received = yield from aim(course, probe, f"probe with {length:,} tokens, over the limit")
        yield from confirm(course, received)
    return missing
