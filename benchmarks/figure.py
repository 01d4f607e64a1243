"""One measured figure and how it is printed."""

import dataclasses
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Sequence


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A measurement; at most one of the two bounds is set."""

    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    beside: str = ""
    """What the figure stands beside, measured in the same run."""

    @property
    def is_missed(self) -> bool:
        """The figure is on the wrong side of its bound, or unknown."""
        # Not the other way round: NaN, which nothing was measured of, meets no bound.
        return (self.at_most is not None and not self.value <= self.at_most) or (
            self.at_least is not None and not self.value >= self.at_least
        )

    def line(self) -> str:
        """Name, figure, bound, met or MISSED, comparison."""
        bound, judgement = "no bound", ""
        if self.at_most is not None:
            bound = f"at most {self.at_most:g}"
        if self.at_least is not None:
            bound = f"at least {self.at_least:g}"
        if bound != "no bound":
            judgement = "MISSED" if self.is_missed else "met"
        value = f"{self.value:,.0f}" if 1_000 <= self.value < math.inf else f"{self.value:.3g}"
        columns = (f"{self.name:<55}", f"{value:>8} {self.unit:<10}", f"{bound:<13}", f"{judgement:<6}")
        return " ".join((*columns, self.beside)).rstrip()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much each benchmark does."""

    prompt_tokens: int
    scan_characters: int
    repeats: int
    """The best one counts: whatever else runs on the machine can only add to a time."""
    probes: int
    """Short probes per block."""
    blocks: int
    """Blocks of ours and of the bare client in turn; their ratio is taken block by block."""
    in_flight: int
    long_tokens: int
    """Of each of the prompts that are in flight together."""
    settle_seconds: float
    """How long an idle service is watched."""


YARDSTICK_BYTES = 6_500_000
FULL = Sizes(
    prompt_tokens=1_000_000,
    scan_characters=10_000_000,
    repeats=7,
    probes=80,
    blocks=9,
    in_flight=8,
    long_tokens=1_048_576,
    settle_seconds=15.0,
)


def best_seconds(repeats: int, work: Callable[[], object]) -> float:
    """Least processor time of several: of work in one thread, the wall time of an idle core."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def beside(name: str, ours: Sequence[float], theirs: Sequence[float], unit: str) -> str:
    """Compare two series that were measured in turn: the other's median, and the median of the ratios."""
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True) if other > 0]
    ratio = f"{statistics.median(ratios):.2f}" if ratios else "unknown"
    return f"{name}: {statistics.median(theirs):.3g} {unit}; ratio {ratio}"


def machine() -> str:
    """What the figures were measured on, with a yardstick: how long work takes that is none of ours."""
    text = "some words of filler text\n" * (YARDSTICK_BYTES // 26)
    yardstick = best_seconds(10, lambda: json.dumps(text)) * 1e3
    load = os.getloadavg()[0]
    return (
        f"on {os.cpu_count()} cores, load average {load:.1f} over the last minute, "
        f"json.dumps of {YARDSTICK_BYTES / 1e6:g} MB in {yardstick:.1f} ms"
    )
