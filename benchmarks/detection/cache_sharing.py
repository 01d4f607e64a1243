"""The paired sign test: pairs until it pages, and how often a fair coin crosses it (detection-science 9.3)."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.detection.simulated import Simulations, exact, generator, share
from benchmarks.figure import Figure
from prober.detect.detectors.cache_sharing import PAGE_E, WARN_E
from prober.stats.bounds import probes_needed
from prober.stats.eprocess import sign_e_value

MOST_PAIRS: Final = 2_000

STOPPING: Final = (
    (0.70, "175-205", 205),
    (0.73, "125-140", 140),
    (0.79, "72-97", 97),
    (0.835, "55-62", 62),
    (0.89, "41-45", 45),
    (0.98, "24", None),
)
"""Chance that a hit is quicker than its miss (AUC) -> median pairs to 1e6, and the largest of them; AUC .98 and more
takes the minimum."""

LEVELS: Final = (100.0, WARN_E, PAGE_E)

HIT_RATES: Final = ((0.048, "61 / 94"), (0.108, "27 / 41"), (0.61, "4 / 5"))
"""Per-trial hit rate to be seen -> trials at 95 % / 99 %."""


def thresholds(level: float, pairs: int) -> npt.NDArray[np.int64]:
    """Least successes among 0, 1, .. `pairs` pairs at which the product's evidence reaches a level; else one too many.

    Evidence rises with successes, and one more pair raises the least number by at most one.
    """
    least = [1]
    for count in range(1, pairs + 1):
        enough = least[-1]
        while enough <= count and sign_e_value(enough, count - enough) < level:
            enough += 1
        least.append(enough)
    return np.array(least)


def crossing_probability(least: npt.NDArray[np.int64], rate: float = 0.5) -> float:
    """Exact chance that a coin ever reaches the thresholds: what survives a walk that they absorb."""
    alive = np.zeros(len(least) + 1)
    alive[0] = 1.0
    for enough in least[1:]:
        alive[1:] = alive[1:] * (1.0 - rate) + alive[:-1] * rate
        alive[0] *= 1.0 - rate
        alive[enough:] = 0.0
    return 1.0 - float(alive.sum())


def stopping(rng: np.random.Generator, least: npt.NDArray[np.int64], rate: float, runs: int) -> npt.NDArray[np.int64]:
    """Pairs until the thresholds are reached, of so many runs; one more than there are where they are not."""
    successes = np.cumsum(rng.random((runs, len(least) - 1)) < rate, axis=1)
    reached = successes >= least[1:]
    return np.where(reached.any(axis=1), 1 + reached.argmax(axis=1), len(least))


def cache_sharing(sizes: Simulations) -> Iterator[Figure]:
    """Power by AUC, crossings of a fair coin, trials that see a rate of hits."""
    page = thresholds(PAGE_E, MOST_PAIRS // 4)
    for auc, cited, most in STOPPING:
        pairs = np.sort(stopping(generator(f"auc {auc}"), page, auc, sizes.pairs))
        low, high = _median_interval(pairs)
        yield Figure(
            name=f"median pairs to 1e6, AUC {auc:g}",
            value=float(np.median(pairs)),
            unit="pairs",
            at_most=most,
            beside=f"95 %: {low} to {high}; reference {cited}",
        )
    fewest = next(count for count in range(1, 100) if sign_e_value(count, 0) >= PAGE_E)
    yield exact("fewest pairs to 1e6, no failure", fewest, "pairs", reference="24", at_most=24)
    for level in LEVELS:
        crossed = crossing_probability(thresholds(level, MOST_PAIRS))
        yield exact(
            f"null crossings within 2,000 pairs, alpha {1 / level:g}",
            crossed,
            "",
            reference="0.95 %" if level == LEVELS[0] else "",
            at_most=1 / level,
        )
    crossings = stopping(generator("null"), thresholds(LEVELS[0], MOST_PAIRS), 0.5, sizes.pairs) <= MOST_PAIRS
    yield share("null crossings within 2,000 pairs, simulated, alpha 0.01", int(crossings.sum()), sizes.pairs)
    for rate, cited in HIT_RATES:
        for confidence, reference in zip((0.95, 0.99), cited.split(" / "), strict=True):
            needed = probes_needed(rate, confidence)
            yield exact(
                f"trials that see hits of {rate:g} at {confidence:.0%}",
                needed,
                "trials",
                reference=reference,
                at_most=int(reference),
            )


def _median_interval(ordered: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Order statistics that hold the median with 95 %: sqrt(n) ranks to either side."""
    runs = len(ordered)
    half = runs**0.5 * 1.959964 / 2
    low, high = max(0, int(runs / 2 - half)), min(runs - 1, int(runs / 2 + half))
    return int(ordered[low]), int(ordered[high])
