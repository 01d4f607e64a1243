"""Finds the effective limit of a target that is described by its advertised context alone."""

from prober.domain.fault_kind import FaultKind
from prober.plan.course import Course
from prober.plan.discovery import Discovery
from prober.plan.stage import Stage, Waves, scenario


@scenario(FaultKind.REJECTED_BUT_ADMITTED, FaultKind.PARTIAL_CONTEXT)
def discover(stage: Stage) -> Waves:
    """Find the largest prompt that is served soundly, to one page; the map stands in the run's report.

    A healthy target that states its limits takes three to eight probes, a silent one about twenty. What is served
    beyond the limit, and served wrongly, is the finding, and the last probe on a shared target.
    """
    discovery = Discovery(Course("discover", stage))
    yield from discovery.play()
    return discovery.shortfall()
