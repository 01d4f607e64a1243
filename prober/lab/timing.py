"""Virtual time: what a prefill, a transfer and a decode step cost."""

import asyncio
import bisect
import math
import random

PREFILL_BASE_SECONDS = 0.48
PREFILL_SECONDS_PER_TOKEN = 3.02e-5
PREFILL_SECONDS_PER_TOKEN_SQUARED = 3.545e-10
"""Fit within 0.6 % of published prefill times at 128k, 256k, 512k and 1M tokens (SGLang/LMSYS, 15 January 2026,
Qwen3-235B-FP8 on 32 H20)."""
ROUND_TRIP_SECONDS = 0.05
DECODE_STEP_SECONDS = 0.02

# Ratio of honest first-token times to their median: measured quantiles of 22,488 requests to real endpoints.
_QUANTILES = (0.0, 0.0004, 0.0034, 0.074, 0.5, 0.9, 0.99, 0.999, 1.0)
_RATIOS = (0.5, 0.6, 0.7, 0.9, 1.0, 1.24, 3.0, 9.5, 9.5)
QUICK_RATIO, SLOW_RATIO = 0.9, 1.24
"""Quicker, or slower, than what is usual: 7.4 and 10 % of requests at full noise. Counted, since nobody sees them."""


def prefill_seconds(tokens: int) -> float:
    """Virtual seconds of a forward pass over a prompt: a + b n + c n^2."""
    return PREFILL_BASE_SECONDS + tokens * (PREFILL_SECONDS_PER_TOKEN + tokens * PREFILL_SECONDS_PER_TOKEN_SQUARED)


def noise_ratio(quantile: float, amount: float) -> float:
    """Factor on a duration for a uniform draw 0..1; `amount` 0 gives 1, 1 the measured spread (0.5 to 9.5)."""
    upper = min(max(bisect.bisect_right(_QUANTILES, quantile), 1), len(_QUANTILES) - 1)
    low, high = _QUANTILES[upper - 1], _QUANTILES[upper]
    share = (quantile - low) / (high - low)
    logarithm = math.log(_RATIOS[upper - 1]) * (1 - share) + math.log(_RATIOS[upper]) * share
    return math.exp(amount * logarithm)


class Pace:
    """Turns virtual seconds into waiting, with one noise draw per request."""

    def __init__(self, time_scale: float, noise: float, seed: int) -> None:
        self._scale = time_scale
        self._noise = noise
        self._random = random.Random(f"timing {seed}")  # noqa: S311 - simulation, no secret

    def real(self, virtual_seconds: float) -> float:
        """Real seconds of a virtual duration."""
        return virtual_seconds * self._scale

    def draw_ratio(self) -> float:
        """Draw the noise factor of one request."""
        return noise_ratio(self._random.random(), self._noise) if self._noise else 1.0

    async def sleep(self, virtual_seconds: float) -> None:
        """Wait so long."""
        await asyncio.sleep(self.real(virtual_seconds))

    async def sleep_until(self, start: float, virtual_seconds: float) -> None:
        """Wait until so long after `start` (event-loop time): many short waits do not add up their lateness."""
        due = start + self.real(virtual_seconds) - asyncio.get_running_loop().time()
        await asyncio.sleep(max(0.0, due))
