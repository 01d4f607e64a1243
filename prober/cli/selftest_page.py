"""The matrix of faults and scenarios as a page of the documentation."""

from collections.abc import Iterable, Mapping, Sequence

from prober.domain.outcome import Outcome
from prober.plan.scenarios import SCENARIOS
from prober.service.fault_runs import scenario_of
from prober.service.fault_tallies import FaultTally, HealthyTally

_COMMAND = "prober selftest --faults --healthy --full --page FILE"

_HEAD = f"""# Which scenario sees which fault

Every fault of [the lab](lab.md) by every scenario, printed by `{_COMMAND}` (`make selftest-page`). Each cell is one
lab, probed over real sockets by the path of `prober run`, at rate 1; nothing of it tells the prober which fault is on.

* **V**: found, VIOLATION. **S**: found, SUSPECT. Found means that a finding names the right
  [kind](fault-kinds.md) first or second.
* **v**, **s**: something was seen, VIOLATION or SUSPECT, and named as another kind.
* **?**: INCONCLUSIVE, nothing claimed. **.**: CLEAN, this scenario does not see it.
* Bold: the scenario that is for it ([self-test](self-test.md#faults)). How often that one finds it, over many seeds:
  `make selftest-power`.

A fault may need a machine that only its own scene has, and one scenario's silence is no proof of absence: run them all.
"""


def matrix_page(faults: Sequence[FaultTally], healthy: Sequence[HealthyTally], fired: Mapping[str, int]) -> str:
    """Render Markdown: grid, cost of each fault's own scenario, healthy rows; parts without rows fall away."""
    parts = [_HEAD]
    if faults:
        parts += [_grid(faults), _costs(faults)]
    if healthy:
        parts.append(_healthy(healthy, fired))
    return "\n".join(parts)


def _grid(rows: Sequence[FaultTally]) -> str:
    cells = {(row.fault, row.scenario): _mark(row) for row in rows}
    kinds = {row.fault: row.kind for row in rows}
    names = [name for name in SCENARIOS if any(row.scenario == name for row in rows)]
    lines = [
        _line(kind, f"`{fault}`", *(_own(fault, name, cells.get((fault, name), "")) for name in names))
        for fault, kind in kinds.items()
    ]
    return _table(("kind", "fault", *(f"`{name}`" for name in names)), lines)


def _own(fault: str, scenario: str, mark: str) -> str:
    return f"**{mark}**" if mark and scenario == scenario_of(fault) else mark


def _mark(row: FaultTally) -> str:
    is_found = row.found == row.runs
    match row.outcome:
        case Outcome.VIOLATION:
            return "V" if is_found else "v"
        case Outcome.SUSPECT:
            return "S" if is_found else "s"
        case Outcome.INCONCLUSIVE:
            return "?"
        case _:
            return "."


def _costs(rows: Sequence[FaultTally]) -> str:
    lines = [
        _line(
            row.kind,
            f"`{row.fault}`",
            f"`{row.scenario}`",
            f"{row.found}/{row.runs}",
            row.outcome.name,
            row.detectors[0] if row.detectors else "-",
            " ".join(row.named) or "-",
            f"{row.probes:,.0f}",
            f"{row.prompt_tokens:,.0f}",
            f"{row.wall_seconds:.1f}",
        )
        for row in rows
        if row.scenario == scenario_of(row.fault)
    ]
    heading = ("kind", "fault", "scenario", "found", "verdict", "detector", "named first", "probes", "tokens", "s")
    return f"## What its own scenario needs\n\n{_table(heading, lines)}"


def _healthy(rows: Sequence[HealthyTally], fired: Mapping[str, int]) -> str:
    lines = [
        _line(
            f"`{row.scenario}`", row.runs, f"{row.probes:,}", row.violations, row.suspicions, f"{row.wall_seconds:.1f}"
        )
        for row in rows
    ]
    table = _table(("scenario", "runs", "probes", "VIOLATION", "SUSPECT", "s"), lines)
    came_up = ", ".join(f"{name} {count:,}" for name, count in fired.items() if count)
    return f"## Healthy labs\n\nWith every honest failing switched on: {came_up}.\n\n{table}"


def _table(heading: Iterable[str], lines: Sequence[str]) -> str:
    titles = tuple(heading)
    return "\n".join((_line(*titles), _line(*("---" for _ in titles)), *lines, ""))


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"
