"""The CUSUMs: trials between false alarms, and trials until a real change shows (detection-science 9.6)."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.detection.simulated import Simulations, generator, mean
from benchmarks.figure import Figure
from prober.detect.charts import DRIFT, EMPTY, REPLAYS
from prober.detect.recall import RECALL_CUSUM
from prober.stats.bounds import clopper_pearson_lower, clopper_pearson_upper
from prober.stats.cusum import Cusum

LEAST_RUN_LENGTH: Final = 1e4
CUSUMS: Final = {
    "recall": RECALL_CUSUM,
    REPLAYS.name: REPLAYS.cusum,
    EMPTY.name: EMPTY.cusum,
    DRIFT.name: DRIFT.cusum,
}
MOST_DELAY: Final = 1_000


def alarms(rng: np.random.Generator, cusum: Cusum, rate: float, chains: int, steps: int) -> int:
    """Count alarms of so many chains over so many trials each; a chain starts anew after its alarm."""
    failed, passed = cusum.fold(0.0, has_failed=True), cusum.fold(0.0, has_failed=False)
    scores, count = np.zeros(chains), 0
    for _ in range(steps):
        scores = np.maximum(scores, 0.0) + np.where(rng.random(chains) < rate, failed, passed)
        crossed = scores >= cusum.threshold
        count += int(crossed.sum())
        scores[crossed] = 0.0
    return count


def delays(rng: np.random.Generator, cusum: Cusum, rate: float, runs: int) -> npt.NDArray[np.float64]:
    """Trials from a change to its alarm, of so many runs, by the product's own folding."""
    found = np.zeros(runs)
    for run in range(runs):
        score, count = 0.0, 0
        while not cusum.has_crossed(score) and count < MOST_DELAY:
            score, count = cusum.fold(score, has_failed=bool(rng.random() < rate)), count + 1
        found[run] = count
    return found


def recall(sizes: Simulations) -> Iterator[Figure]:
    """Mean trials between false alarms at the honest rate, with the interval of its count of alarms; then delays."""
    for name, cusum in CUSUMS.items():
        trials = sizes.chains * sizes.steps
        count = alarms(generator(f"honest {name}"), cusum, cusum.honest_rate, sizes.chains, sizes.steps)
        low, high = clopper_pearson_lower(count, trials, 0.975), clopper_pearson_upper(count, trials, 0.975)
        longest = f"{1 / low:.3g}" if low else "any number"
        yield Figure(
            name=f"trials between false alarms, {name} CUSUM, {cusum.honest_rate:g} honest failures",
            value=trials / count if count else math.inf,
            unit="trials",
            at_least=LEAST_RUN_LENGTH,
            beside=f"95 %: {1 / high:.3g} to {longest}; reference >= 1e4",
        )
        late = delays(generator(f"broken {name}"), cusum, cusum.broken_rate, sizes.counts // 10)
        yield mean(f"trials to the alarm, {name} CUSUM, {cusum.broken_rate:g} broken failures", late, "trials")
