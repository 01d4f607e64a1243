"""Which kinds of fault a target has been probed for: when last, with what bound, with what outcome."""

import dataclasses
import datetime as dt
from collections.abc import Iterable

from prober.domain.fault_kind import FaultKind
from prober.domain.outcome import Outcome, worst
from prober.plan.scenarios import SCENARIOS
from prober.stats.bounds import leak_rate_upper95
from prober.store.rows import StoredTally


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KindCoverage:
    """What is known of one kind of fault on one build of a target."""

    kind: FaultKind
    scenarios: tuple[str, ...]
    """Scenarios that provoke it, whether they ran or not."""
    probed_by: tuple[str, ...]
    """Those that ran."""
    clean: int
    """Clean probes of the scenario that sent most."""
    last_at: dt.datetime | None
    """When it was last probed; None: never."""
    outcome: Outcome | None
    """The worst of the scenarios that provoke it; None: never probed."""

    @property
    def leak_rate_upper95(self) -> float | None:
        """Bound per probe, by the scenario with most clean ones; None without one, or where something was found."""
        is_found = self.outcome is not None and self.outcome.rank >= Outcome.SUSPECT.rank
        return leak_rate_upper95(self.clean) if self.clean and not is_found else None


def coverage(tallies: Iterable[StoredTally], build: str) -> tuple[KindCoverage, ...]:
    """Fold a target's tallies into one row per kind, K1 first; bounds never mix builds."""
    of_build = [tally for tally in tallies if tally.build == build]
    return tuple(_row(kind, of_build) for kind in FaultKind)


def latest_build(tallies: Iterable[StoredTally]) -> str | None:
    """Name the build that was probed last; None where nothing was."""
    latest = max(tallies, key=lambda tally: tally.last_at, default=None)
    return None if latest is None else latest.build


def _row(kind: FaultKind, tallies: list[StoredTally]) -> KindCoverage:
    scenarios = tuple(name for name, scenario in SCENARIOS.items() if kind in scenario.kinds)
    relevant = [tally for tally in tallies if tally.scenario in scenarios]
    clean = dict.fromkeys(scenarios, 0)
    for tally in relevant:
        clean[tally.scenario] += tally.probes if tally.outcome is Outcome.CLEAN else 0
    return KindCoverage(
        kind=kind,
        scenarios=scenarios,
        probed_by=tuple(name for name in scenarios if any(tally.scenario == name for tally in relevant)),
        clean=max(clean.values(), default=0),
        last_at=max((tally.last_at for tally in relevant), default=None),
        outcome=worst(tally.outcome for tally in relevant) if relevant else None,
    )
