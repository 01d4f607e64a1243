"""Relative noise of first-token times of honest endpoints: measured quantiles, and a heavier-tailed model of them.

Source: detection-science section 4, "Real endpoint noise": 22,488 honest requests of 90 endpoint-runs, as ratios to
the median of their run; the sets are those of Gu et al. (15,488) and CacheProbe (7,000), prompts of 4,000 to 5,000
tokens. Long prompts vary less on the low side, so both models are on the safe side there.
"""

import dataclasses
import math
import statistics
from typing import Final

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float64]

GU_QUANTILES: Final = (
    (0.0, 0.5),
    (0.0004, 0.6),
    (0.0034, 0.7),
    (0.074, 0.9),
    (0.5, 1.0),
    (0.9, 1.24),
    (0.99, 3.0),
    (0.999, 9.5),
    (1.0, 30.0),
)
"""Share of requests below -> ratio: none of 15,488 was below 0.5. The largest ratio is not told; 30 is our guess."""

CACHE_PROBE_QUANTILES: Final = (
    (0.0, 0.3),
    (6 / 7_000, 0.4),
    (20 / 7_000, 0.5),
    (20 / 7_000 + 0.0004, 0.6),
    (20 / 7_000 + 0.0034, 0.7),
    (20 / 7_000 + 0.074, 0.9),
    *GU_QUANTILES[4:],
)
"""20 of 7,000 below 0.5, 6 below 0.4, none below 0.3; above that nothing is told, and Gu's figures are added."""

CACHE_PROBE_SHARE: Final = 7_000 / 22_488


def measured(rng: np.random.Generator, trials: int, each: int) -> Samples:
    """Resample the quantiles, linear between them in logarithms: `each` ratios for every trial, from one set.

    A trial's timings are those of one endpoint, so they all come from the same set.
    """
    uniform = rng.random((trials, each))
    gu, cache_probe = (_resampled(quantiles, uniform) for quantiles in (GU_QUANTILES, CACHE_PROBE_QUANTILES))
    return np.where(rng.random((trials, 1)) < CACHE_PROBE_SHARE, cache_probe, gu)


def cache_probe_alone(rng: np.random.Generator, trials: int, each: int) -> Samples:
    """Resample the worse of the two sets alone."""
    return _resampled(CACHE_PROBE_QUANTILES, rng.random((trials, each)))


def _resampled(quantiles: tuple[tuple[float, float], ...], uniform: Samples) -> Samples:
    below, ratios = zip(*quantiles, strict=True)
    return np.exp(np.interp(uniform, below, np.log(ratios)))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HeavyTails:
    """Lognormal body, Pareto tail above, power tail down to 0 below; each at least as heavy as measured.

    Below: P(ratio < x) = lower_share * (x / lower_edge)**lower_power; 8.9e-4 below 0.5, as in both sets together, and
    no least ratio. Above: P(ratio > x) = upper_share * (x / upper_edge)**-upper_power; p99 3.9 and p99.9 12.4.
    """

    lower_edge: float = 0.7
    lower_share: float = 20 / 22_488 * (0.7 / 0.5) ** 5
    lower_power: float = 5.0
    upper_edge: float = 1.24
    upper_share: float = 0.1
    upper_power: float = 2.0

    def __call__(self, rng: np.random.Generator, trials: int, each: int) -> Samples:
        """Draw `each` ratios for every trial."""
        uniform = rng.random((trials, each))
        body = np.exp(np.interp(uniform, *self._body()))
        low = self.lower_edge * (np.minimum(uniform, self.lower_share) / self.lower_share) ** (1 / self.lower_power)
        rest = np.minimum(1.0 - uniform, self.upper_share) / self.upper_share
        high = self.upper_edge * np.maximum(rest, 1e-12) ** (-1 / self.upper_power)
        return np.where(uniform < self.lower_share, low, np.where(uniform > 1.0 - self.upper_share, high, body))

    def _body(self) -> tuple[Samples, Samples]:
        """Quantiles of a lognormal with a width for each side, so that it meets both tails at their edges."""
        normal = statistics.NormalDist()
        below = np.linspace(self.lower_share, 1.0 - self.upper_share, 513)
        widths = (
            math.log(self.lower_edge) / normal.inv_cdf(self.lower_share),
            math.log(self.upper_edge) / normal.inv_cdf(1.0 - self.upper_share),
        )
        scores = [normal.inv_cdf(share) for share in below]
        return below, np.array([score * widths[score > 0] for score in scores])


heavy_tailed = HeavyTails()
