"""What every simulation shares: how much it does, and how a share or a mean is printed with its interval."""

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from benchmarks.figure import Figure
from prober.stats.bounds import clopper_pearson_lower, clopper_pearson_upper

SEED = 20_261_130
"""Fixed: the command prints the same figures on every machine."""

_ONE_SIDED = 0.975
"""Of each side, for a two-sided 95 % interval."""

_Z = 1.959964


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Simulations:
    """Trials per cell."""

    anchors: int
    searches: int
    """Boundary searches per cell; the cell that the requirement names gets three times as many."""
    pairs: int
    """Runs of the paired test per cell."""
    chains: int
    steps: int
    """Parallel chains of a CUSUM, and trials in each."""
    counts: int
    """Runs of a given number of probes."""


FULL = Simulations(anchors=100_000, searches=150, pairs=4_000, chains=4_000, steps=20_000, counts=20_000)


def generator(name: str) -> np.random.Generator:
    """Random numbers of one simulation, whichever others run before it."""
    return np.random.default_rng([SEED, *name.encode()])


def share(
    name: str,
    events: int,
    trials: int,
    *,
    reference: str = "",
    at_most: float | None = None,
    at_least: float | None = None,
) -> Figure:
    """Print a share with its 95 % interval (Clopper and Pearson) and the reference's figure."""
    low = clopper_pearson_lower(events, trials, _ONE_SIDED)
    high = clopper_pearson_upper(events, trials, _ONE_SIDED)
    return Figure(
        name=name,
        value=events / trials,
        unit="",
        at_most=at_most,
        at_least=at_least,
        beside=_beside(low, high, reference),
    )


def mean(
    name: str, values: npt.NDArray[np.float64], unit: str, *, reference: str = "", at_most: float | None = None
) -> Figure:
    """Print a mean with its 95 % interval and the reference's figure."""
    half = _Z * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    value = float(values.mean())
    return Figure(
        name=name, value=value, unit=unit, at_most=at_most, beside=_beside(value - half, value + half, reference)
    )


def exact(name: str, value: float, unit: str, *, reference: str = "", at_most: float | None = None) -> Figure:
    """Print a figure that is computed, not sampled."""
    return Figure(name=name, value=value, unit=unit, at_most=at_most, beside=_cited("exact", reference))


def _beside(low: float, high: float, reference: str) -> str:
    return _cited(f"95 %: {low:.3g} to {high:.3g}", reference)


def _cited(words: str, reference: str) -> str:
    return f"{words}; reference {reference}" if reference else words
