"""What a scenario knows before its first wave."""

import dataclasses
from collections.abc import Callable, Generator

from prober.domain.campaign import ScenarioSettings
from prober.domain.evidence import WaveEvidence
from prober.domain.fault_kind import FaultKind
from prober.domain.mark import AnswerMark
from prober.domain.probe import Wave
from prober.domain.target import Target
from prober.domain.tenant import Tenant
from prober.prompt.tokens import Calibration


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Facts a scenario plans with. At least two tenants; the calibration belongs to the target's text form."""

    target: Target
    tenants: tuple[Tenant, ...]
    settings: ScenarioSettings
    calibration: Calibration
    reference: tuple[AnswerMark, ...] = ()
    """Marks of the latest earlier run against this target, oldest first; empty: there was none, or none is kept."""


Waves = Generator[Wave, WaveEvidence, tuple[str, ...]]
"""What a scenario is while it plays: `wave_evidence = yield Wave(...)`. Pure, so adaptive ones are testable.

Returns, in sentences of ours, what it set out to judge and could not, though every answer was sound: without that a
run that never provoked the fault would read as clean.
"""


class Curtailed(Exception):  # noqa: N818 - no error: thrown into a scenario in place of a wave's evidence
    """No further wave will be sent, nor was this one: say what is missing, and end."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scenario:
    """A shape of traffic, and the kinds of fault that it provokes."""

    play: Callable[[Stage], Waves]
    kinds: tuple[FaultKind, ...]
    """The likeliest first; what `prober coverage` counts as probed once the scenario ran."""

    def __call__(self, stage: Stage) -> Waves:
        """Begin to play."""
        return self.play(stage)


def scenario(*kinds: FaultKind) -> Callable[[Callable[[Stage], Waves]], Scenario]:
    """Declare a generator function as the scenario for these kinds of fault."""
    return lambda play: Scenario(play, kinds)
