"""The noisy boundary search: answers it takes, and how often its interval holds the limit (detection-science 9.5)."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.detection.simulated import Simulations, generator, mean, share
from benchmarks.figure import Figure
from prober.plan.discovery import CONFIDENCE
from prober.stats.boundary import ProbabilisticBisection

SHORTEST: Final = 131_072
CONTEXT: Final = 1_048_576
PAGE: Final = 64
MOST_ANSWERS: Final = 300

NOISES: Final = (
    ("noise-free", 0.0, 0.0),
    ("2 %", 0.02, 0.02),
    ("5 %", 0.05, 0.05),
    ("10 %", 0.1, 0.1),
    ("30 % / 5 %", 0.3, 0.05),
)
"""Name, rate at which a length within is answered as beyond, and a length beyond as within."""

TOLERANCES: Final = (
    ("1 page", PAGE, ("15.0", "16.6", "20.8", "29.5", "38.7")),
    ("1,024 tokens", 1_024, ("12.9", "14.6", "18.9", "25.8", "39.1")),
    ("1 % of the context", CONTEXT // 100, ("9.6", "11.3", "14.3", "20.6", "32.7")),
)
"""Name, width of the 99 % interval at which the search ends, mean answers per noise; 150 runs per cell."""

REQUIRED: Final = ("1 page", "5 %")
MOST_MEAN: Final = 22.0
LEAST_COVERED: Final = 0.987
"""The reference's own lowest cell; the interval's nominal 99 % is its credibility."""


def search(
    rng: np.random.Generator, tolerance: int, false_beyond: float, false_within: float, runs: int
) -> tuple[npt.NDArray[np.float64], int]:
    """Answers that each of so many searches takes, and in how many the interval holds the limit; uniform limits."""
    start = ProbabilisticBisection.over(
        shortest=SHORTEST,
        longest=CONTEXT,
        page_tokens=PAGE,
        false_beyond_rate=false_beyond,
        false_within_rate=false_within,
    )
    answers, covered = np.zeros(runs), 0
    for run in range(runs):
        limit, state, count = int(rng.choice(start.lengths)), start, 0
        while not state.is_settled(tolerance, CONFIDENCE) and count < MOST_ANSWERS:
            length = state.next_length
            is_true = length <= limit
            is_wrong = rng.random() < (false_beyond if is_true else false_within)
            state, count = state.answered(length, is_within=is_true != is_wrong), count + 1
        low, high = state.interval(CONFIDENCE)
        answers[run] = count
        covered += low <= limit <= high
    return answers, covered


def boundary(sizes: Simulations) -> Iterator[Figure]:
    """Mean answers per tolerance and noise, the interval's coverage over all cells of a noise."""
    for kind, false_beyond, false_within in NOISES:
        all_covered = all_runs = 0
        place = [name for name, *_ in NOISES].index(kind)
        for name, tolerance, cited in TOLERANCES:
            is_required = (name, kind) == REQUIRED
            runs = sizes.searches * 3 if is_required else sizes.searches
            rng = generator(f"{name} {kind}")
            answers, covered = search(rng, tolerance, false_beyond, false_within, runs)
            all_covered += covered
            all_runs += runs
            yield mean(
                f"mean probes to {name}, {kind}",
                answers,
                "probes",
                reference=cited[place],
                at_most=MOST_MEAN if is_required else None,
            )
            if is_required:
                p95 = float(np.quantile(answers, 0.95))
                yield Figure(name=f"p95 of these, {kind}", value=p95, unit="probes", beside="reference 31")
        yield share(
            f"99 % interval holds the limit, {kind}",
            all_covered,
            all_runs,
            reference="0.987 to 1",
            at_least=LEAST_COVERED,
        )
