"""What must work before anything else means anything: fitting prompts of several tenants, and timed prefills."""

from prober.domain.fault_kind import FaultKind
from prober.domain.probe import Role
from prober.plan.anchoring import anchor
from prober.plan.confirm import confirm
from prober.plan.course import Course
from prober.plan.lengths import baseline_tokens, small_tokens
from prober.plan.stage import Stage, Waves, scenario


@scenario(FaultKind.PARTIAL_CONTEXT, FaultKind.NUMERIC_CORRUPTION)
def baseline(stage: Stage) -> Waves:
    """Send small probes, then large ones, of all tenants in turn; then the anchors at the large size.

    A healthy target serves every one of them, recalls the needles and reports usage as predicted.
    """
    course = Course("baseline", stage)
    for size in (small_tokens(stage), baseline_tokens(stage)):
        tenants = (stage.tenants[number % len(stage.tenants)] for number in range(stage.settings.baseline_probes))
        checks = [course.draft(Role.CHECK, tenant, size) for tenant in tenants]
        received = yield from course.send(checks, f"check prompts of {size:,} tokens, which fit")
        yield from confirm(course, received)
    yield from anchor(course)
    return ()
