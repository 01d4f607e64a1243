"""Many runs folded into rows: how often each fault was found, by what, for how much; and what healthy labs showed."""

import collections
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from prober.domain.outcome import Outcome
from prober.lab.faults import FAULTS
from prober.service.fault_runs import FaultSeen
from prober.stats.bounds import clopper_pearson_upper


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FaultTally:
    """All runs of one fault by one scenario."""

    fault: str
    kind: str
    scenario: str
    rate: float
    runs: int
    found: int
    detectors: tuple[str, ...]
    """Of the telling findings, the commonest first."""
    named: tuple[str, ...]
    """Codes of the kinds that telling findings named first, the commonest first."""
    outcome: Outcome
    """The worst."""
    probes: float
    """Mean per run."""
    prompt_tokens: float
    wall_seconds: float

    @property
    def found_lower95(self) -> float:
        """One-sided lower 95 % bound on the share of runs that find it."""
        return share_lower95(self.found, self.runs)

    def facts(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dataclasses.asdict(self) | {"outcome": self.outcome.value, "found_lower95": round(self.found_lower95, 4)}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KindTally:
    """All runs of one kind's faults, each by its own scenario."""

    kind: str
    faults: tuple[str, ...]
    runs: int
    found: int

    @property
    def found_lower95(self) -> float:
        """As a fault's."""
        return share_lower95(self.found, self.runs)

    def facts(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dataclasses.asdict(self) | {"found_lower95": round(self.found_lower95, 4)}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HealthyTally:
    """All runs of one scenario against healthy labs."""

    scenario: str
    runs: int
    probes: int
    violations: int
    """Findings, as `suspicions`."""
    suspicions: int
    reasons: tuple[str, ...]
    """Of both, the commonest first."""
    wall_seconds: float

    def facts(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dataclasses.asdict(self)


def share_lower95(found: int, runs: int) -> float:
    """One-sided lower 95 % bound on a share (Clopper and Pearson 1934); 0..1."""
    return 1.0 - clopper_pearson_upper(runs - found, runs)


def tally_faults(seen: Iterable[FaultSeen]) -> tuple[FaultTally, ...]:
    """Fold runs with a fault, in the order of kinds; one row per fault, scenario and rate."""
    groups: dict[tuple[str, str, float], list[FaultSeen]] = {}
    for each in seen:
        run = each.fault_run
        if run.fault is not None:
            groups.setdefault((run.fault, run.scenario, run.rate), []).append(each)
    order = list(FAULTS)
    keys = sorted(groups, key=lambda key: order.index(key[0]))
    return tuple(_fault_row(*key, groups[key]) for key in keys)


def tally_kinds(rows: Iterable[FaultTally]) -> tuple[KindTally, ...]:
    """Fold rows of faults by kind, in the order of kinds' numbers."""
    groups: dict[str, list[FaultTally]] = {}
    for row in rows:
        groups.setdefault(row.kind, []).append(row)
    return tuple(
        KindTally(
            kind=kind,
            faults=tuple(dict.fromkeys(row.fault for row in groups[kind])),
            runs=sum(row.runs for row in groups[kind]),
            found=sum(row.found for row in groups[kind]),
        )
        for kind in sorted(groups, key=lambda kind: int(kind.removeprefix("K")))
    )


def tally_healthy(seen: Iterable[FaultSeen]) -> tuple[HealthyTally, ...]:
    """Fold runs without a fault; one row per scenario, in the order of their first runs."""
    groups: dict[str, list[FaultSeen]] = {}
    for each in seen:
        if each.fault_run.fault is None:
            groups.setdefault(each.fault_run.scenario, []).append(each)
    return tuple(_healthy_row(scenario, runs) for scenario, runs in groups.items())


def fired(seen: Iterable[FaultSeen]) -> Mapping[str, int]:
    """How often each honest failing came up in healthy labs, all runs added up."""
    counters: collections.Counter[str] = collections.Counter()
    for each in seen:
        if each.fault_run.fault is None:
            counters.update(each.counters)
    return dict(sorted(counters.items()))


def _fault_row(fault: str, scenario: str, rate: float, runs: list[FaultSeen]) -> FaultTally:
    telling = [each.telling for each in runs if each.telling is not None]
    return FaultTally(
        fault=fault,
        kind=FAULTS[fault].KIND,
        scenario=scenario,
        rate=rate,
        runs=len(runs),
        found=len(telling),
        detectors=_commonest(finding.detector for finding in telling),
        named=_commonest(finding.kinds[0].value for finding in telling),
        outcome=max((each.outcome for each in runs), key=lambda outcome: outcome.rank),
        probes=sum(each.probes for each in runs) / len(runs),
        prompt_tokens=sum(each.prompt_tokens for each in runs) / len(runs),
        wall_seconds=sum(each.wall_seconds for each in runs) / len(runs),
    )


def _healthy_row(scenario: str, runs: list[FaultSeen]) -> HealthyTally:
    found = [finding for each in runs for finding in each.notable]
    return HealthyTally(
        scenario=scenario,
        runs=len(runs),
        probes=sum(each.probes for each in runs),
        violations=sum(finding.outcome is Outcome.VIOLATION for finding in found),
        suspicions=sum(finding.outcome is Outcome.SUSPECT for finding in found),
        reasons=_commonest(finding.reason.value for finding in found),
        wall_seconds=sum(each.wall_seconds for each in runs),
    )


def _commonest(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name, _ in collections.Counter(names).most_common())
