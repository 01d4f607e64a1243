"""The anchored prefill floor: honest prefills called too fast, and skipped ones that pass (detection-science 9.2)."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from benchmarks.detection.noise import Samples, cache_probe_alone, heavy_tailed, measured
from benchmarks.detection.simulated import Simulations, generator, share
from benchmarks.figure import Figure
from prober.stats.prefill import SLACK, floor_for

LENGTHS: Final = (681_280, 1_048_576)
"""Prompts judged: beyond the incident's pool, up to its context."""

SMALL_TOKENS: Final = 2_048
SMALL_PROBES: Final = 6
"""Quick sound answers of a run before its long ones, which bound the cost that does not grow with the prompt."""

FIXED_SECONDS: Final = 0.48
"""The fit's constant term for the dense LLM of detection-science 4; what a skipped prefill still takes."""

QUEUE_SECONDS: Final = 1.5
"""A skipped prefill also waits between 0 and this long."""

SIZES: Final = (131_072, 262_144, 524_288)
"""Anchor sizes n0."""

MOST_FALSE_ALARMS: Final = 1e-4


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Honest seconds to the first token: FIXED_SECONDS + linear * n + quadratic * n**2."""

    linear: float
    quadratic: float

    def seconds(self, tokens: Samples | float) -> Samples:
        """Median time of prompts of `tokens`."""
        return np.asarray(FIXED_SECONDS + self.linear * tokens + self.quadratic * np.square(tokens))


SPARSE: Final = Shape(linear=1.54e-5, quadratic=1.375e-11)
"""A GLM-5.x-class LLM on 8 H200 at 40 % of the peak: 2.3 s at 131,072 and 31 s at 1,048,576 tokens (section 4)."""

DENSE: Final = Shape(linear=3.02e-5, quadratic=3.545e-10)
"""Qwen3-235B on 32 H20: the fit of section 4, within 0.5 % of four published times."""

LINEAR: Final = Shape(linear=3.02e-5, quadratic=0.0)
"""No attention cost at all: the least an honest prefill can grow."""

Noise = Callable[[np.random.Generator, int, int], Samples]

NOISES: Final[dict[str, Noise]] = {"measured": measured, "heavy-tailed": heavy_tailed}

REFERENCE: Final = {
    (131_072, 10): {0.5: "1.4e-3 / 0.6 %", 0.4: "1.4e-4 / 0.9 %", 0.3: "0 / 1.6 %"},
    (262_144, 5): {0.5: "4.2e-4 / 0.8 %", 0.4: "1.9e-4 / 1.2 %", 0.3: "0 / 2.1 %"},
    (262_144, 10): {0.5: "3e-5 / 0.8 %", 0.4: "0 (<= 8.3e-5) / 1.2 %", 0.3: "0 / 2.2 %"},
    (524_288, 5): {0.5: "1.1e-4 / 0.9 %", 0.4: "3e-5 / 1.4 %", 0.3: "0 / 3.1 %"},
}
"""(n0, k) -> share of the scaled anchor -> false alarms / misses, 36,000 trials per cell."""

SHARES: Final = (0.5, 0.4, 0.3)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One anchor size and number of timings, on one kind of noise and one shape of cost."""

    size: int
    timings: int
    noise: Noise
    shape: Shape = SPARSE
    is_fixed_known: bool = True
    """As in the product, the quickest answer bounds the cost that does not grow; the reference's rule has it at 0."""

    def rates(self, rng: np.random.Generator, trials: int) -> tuple[Samples, Samples]:
        """First-token times over the product's own floor: of honest prefills, and of skipped ones.

        A ratio below 1 is an alarm at the share in force; below s / SLACK it would be one at a share of s.
        """
        lengths = rng.integers(*LENGTHS, trials).astype(np.float64)
        noise = self.noise(rng, trials, self.timings + SMALL_PROBES + 2)
        anchors = self.shape.seconds(self.size) * noise[:, : self.timings]
        small = self.shape.seconds(SMALL_TOKENS) * noise[:, self.timings : -2]
        quickest = np.minimum(anchors.min(axis=1), small.min(axis=1)) * self.is_fixed_known
        trio = zip(lengths.tolist(), anchors.tolist(), quickest.tolist(), strict=True)
        floors = np.array([_floor(int(tokens), self.size, tuple(timings), fixed) for tokens, timings, fixed in trio])
        skipped = (FIXED_SECONDS + QUEUE_SECONDS * rng.random(trials)) * noise[:, -1]
        return self.shape.seconds(lengths) * noise[:, -2] / floors, skipped / floors


def _floor(tokens: int, size: int, timings: tuple[float, ...], fixed: float) -> float:
    floor = floor_for(tokens, anchors={size: timings}, fixed_seconds=fixed, bound=None)
    assert floor is not None
    return floor.seconds


def prefill_floor(sizes: Simulations) -> Iterator[Figure]:
    """The reference's cells by its own rule; the product's, which has a bound; then under worse conditions."""
    for size, timings in REFERENCE:
        plain = Cell(size=size, timings=timings, noise=measured, is_fixed_known=False)
        yield from _figures(f"plain rule, n0 {size:,}, k {timings}", sizes, plain, shares=SHARES)
    for kind, noise in NOISES.items():
        for size in SIZES:
            cell = Cell(size=size, timings=10, noise=noise)
            yield from _figures(f"{kind}, n0 {size:,}, k 10", sizes, cell, at_most=MOST_FALSE_ALARMS)
    for kind, shape in (("dense", DENSE), ("linear", LINEAR)):
        cell = Cell(size=262_144, timings=10, noise=heavy_tailed, shape=shape)
        yield from _figures(f"heavy-tailed, {kind} cost, n0 262,144, k 10", sizes, cell)
    worse = Cell(size=262_144, timings=10, noise=cache_probe_alone)
    yield from _figures("CacheProbe's endpoints alone, n0 262,144, k 10", sizes, worse)


def _figures(
    name: str,
    sizes: Simulations,
    cell: Cell,
    *,
    shares: tuple[float, ...] = (SLACK,),
    at_most: float | None = None,
) -> Iterator[Figure]:
    honest, skipped = cell.rates(generator(name), sizes.anchors)
    for part in shares:
        cited = REFERENCE[cell.size, cell.timings][part] if not cell.is_fixed_known else ""
        alarm = part / SLACK
        yield share(
            f"false alarms, {name}, x{part}",
            int((honest < alarm).sum()),
            sizes.anchors,
            reference=cited.partition(" / ")[0],
            at_most=at_most,
        )
        yield share(
            f"misses, {name}, x{part}",
            int((skipped >= alarm).sum()),
            sizes.anchors,
            reference=cited.partition(" / ")[2],
        )
