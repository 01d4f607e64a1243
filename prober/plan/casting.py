"""Who plays whom in a scenario."""

import dataclasses
from collections.abc import Sequence

from prober.domain.tenant import Tenant


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Donors fill the pools and disturb; checkers send the probes that must not see the donors' text."""

    donors: tuple[Tenant, ...]
    checkers: tuple[Tenant, ...]


def cast(tenants: Sequence[Tenant]) -> Cast:
    """Split at least two tenants; with an odd number there is one checker more, for fresh re-probes."""
    half = len(tenants) // 2
    return Cast(donors=tuple(tenants[:half]), checkers=tuple(tenants[half:]))
