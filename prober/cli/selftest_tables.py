"""Tables of the self-test, for the console and, as they are, for the documentation."""

from collections.abc import Mapping, Sequence

from prober.cli.terminal import aligned
from prober.service.fault_tallies import FaultTally, HealthyTally, KindTally

_FAULTS = (
    "kind",
    "fault",
    "scenario",
    "rate",
    "found",
    "at least",
    "verdict",
    "detector",
    "named",
    "probes",
    "tokens",
    "s",
)
_KINDS = ("kind", "faults", "found", "share", "at least")
_HEALTHY = ("scenario", "runs", "probes", "VIOLATION", "SUSPECT", "reasons", "s")


def fault_lines(rows: Sequence[FaultTally]) -> list[str]:
    """One line per fault and scenario, under a heading; nothing without rows."""
    return aligned([_FAULTS, *map(_fault_cells, rows)]) if rows else []


def kind_lines(rows: Sequence[KindTally]) -> list[str]:
    """One line per kind, under a heading; nothing without rows."""
    return aligned([_KINDS, *map(_kind_cells, rows)]) if rows else []


def healthy_lines(rows: Sequence[HealthyTally], fired: Mapping[str, int]) -> list[str]:
    """One line per scenario, under a heading, then how often each honest failing came up; nothing without rows."""
    if not rows:
        return []
    total = sum(row.probes for row in rows)
    failings = ", ".join(f"{name} {count:,}" for name, count in fired.items() if count)
    wrong = f"{sum(row.violations for row in rows)} violations, {sum(row.suspicions for row in rows)} suspicions"
    return [
        *aligned([_HEALTHY, *map(_healthy_cells, rows)]),
        f"{total:,} probes of healthy labs, {wrong}",
        f"what happened there: {failings}",
    ]


def _fault_cells(row: FaultTally) -> tuple[str, ...]:
    return (
        row.kind,
        row.fault,
        row.scenario,
        f"{row.rate:g}",
        f"{row.found}/{row.runs}",
        f"{row.found_lower95:.0%}",
        row.outcome.name,
        row.detectors[0] if row.detectors else "-",
        row.named[0] if row.named else "-",
        f"{row.probes:.0f}",
        f"{row.prompt_tokens:,.0f}",
        f"{row.wall_seconds:.1f}",
    )


def _kind_cells(row: KindTally) -> tuple[str, ...]:
    return (
        row.kind,
        ", ".join(row.faults),
        f"{row.found}/{row.runs}",
        f"{row.found / row.runs:.1%}",
        f"{row.found_lower95:.1%}",
    )


def _healthy_cells(row: HealthyTally) -> tuple[str, ...]:
    return (
        row.scenario,
        str(row.runs),
        f"{row.probes:,}",
        str(row.violations),
        str(row.suspicions),
        ", ".join(row.reasons) or "-",
        f"{row.wall_seconds:.1f}",
    )
