"""What a scenario knows before its first wave."""

import dataclasses
from collections.abc import Callable, Generator

from prober.domain.campaign import ScenarioSettings
from prober.domain.evidence import WaveEvidence
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


Scenario = Callable[[Stage], Generator[Wave, WaveEvidence, tuple[str, ...]]]
"""Yields waves, receives their evidence: `wave_evidence = yield Wave(...)`. Pure, so adaptive ones are testable.

Returns, in sentences of ours, what it set out to judge and could not, though every answer was sound: without that a
run that never provoked the fault would read as clean.
"""
