"""From figures to places, and where an axis is marked."""

import dataclasses
import math
from collections.abc import Sequence

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_TICKS_OF_DECADES = 9


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Maps `low`..`high` to `start`..`end`, in equal steps or, logarithmic, in equal ratios; keeps others within."""

    low: float
    high: float
    start: float
    end: float
    is_logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Place a value."""
        kept = min(max(value, self.low), self.high)
        if self.high <= self.low:
            return self.start
        if self.is_logarithmic:
            share = math.log(kept / self.low) / math.log(self.high / self.low)
        else:
            share = (kept - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, about: int = 6) -> tuple[float, ...]:
        """Round values to mark within the range."""
        return _decades(self.low, self.high) if self.is_logarithmic else _steps(self.low, self.high, about)


def decades_around(values: Sequence[float]) -> tuple[float, float]:
    """Powers of ten that hold all positive values between them: 1 and 10 where there is none."""
    positive = [value for value in values if value > 0.0 and math.isfinite(value)]
    if not positive:
        return 1.0, 10.0
    low = 10.0 ** math.floor(math.log10(min(positive)))
    high = 10.0 ** math.ceil(math.log10(max(positive)))
    return low, high if high > low else low * 10.0


def _steps(low: float, high: float, about: int) -> tuple[float, ...]:
    if not high > low:
        return (low,)
    rough = (high - low) / about
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * each for each in _STEPS if size * each >= rough)
    first = math.ceil(low / step)
    return tuple(step * number for number in range(first, first + about + 2) if step * number <= high * (1 + 1e-9))


def _decades(low: float, high: float) -> tuple[float, ...]:
    first, last = round(math.log10(low)), round(math.log10(high))
    skip = max(1, math.ceil((last - first) / _MOST_TICKS_OF_DECADES))
    return tuple(10.0**power for power in range(first, last + 1, skip))


def short(value: float) -> str:
    """A figure on an axis: `1,500`, `250k`, `1M`, `0.01`."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / min(size, 1e3 if unit == 'k' else size):,.6g}{unit}"
    return f"{value:,.0f}" if value >= 1e3 else f"{value:g}"  # noqa: PLR2004 - as people group digits
