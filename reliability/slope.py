"""Whether a quantity grows: least squares over means of blocks, which are nearly independent where samples are not."""

import dataclasses
import math
import statistics
from collections.abc import Sequence

BLOCKS = 20
T_95 = 2.101
"""Two-sided 95 % point of Student's t at 18 degrees of freedom, for 20 blocks and two parameters."""


@dataclasses.dataclass(frozen=True, slots=True)
class Slope:
    """Growth of y per unit of x, with its 95 % confidence interval."""

    value: float
    low: float
    high: float


def slope_of(x: Sequence[float], y: Sequence[float]) -> Slope:
    """Fit a line to the means of 20 blocks of as many samples each.

    Raises:
        ValueError: there are fewer samples than blocks, or x does not move.
    """
    size = len(x) // BLOCKS
    if not size:
        raise ValueError(f"a slope needs {BLOCKS} samples, there are {len(x)}")
    # The first ones are left out where they do not divide.
    first = len(x) - size * BLOCKS
    starts = range(first, len(x), size)
    xs, ys = ([statistics.fmean(each[start : start + size]) for start in starts] for each in (x, y))
    line = statistics.linear_regression(xs, ys)
    residuals = sum((b - line.intercept - line.slope * a) ** 2 for a, b in zip(xs, ys, strict=True))
    spread = sum((a - statistics.fmean(xs)) ** 2 for a in xs)
    error = T_95 * math.sqrt(residuals / (BLOCKS - 2) / spread)
    return Slope(line.slope, line.slope - error, line.slope + error)
