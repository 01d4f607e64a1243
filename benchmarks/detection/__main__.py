"""Print every figure of the detection statistics beside the reference's; exit 1 if one misses its bound."""

import sys
import time
from collections.abc import Callable, Iterator

from benchmarks.detection.boundary import boundary
from benchmarks.detection.cache_sharing import cache_sharing
from benchmarks.detection.leak_rates import leak_rates
from benchmarks.detection.prefill_floor import prefill_floor
from benchmarks.detection.recall import recall
from benchmarks.detection.simulated import FULL, Simulations
from benchmarks.figure import Figure

SIMULATIONS: dict[str, Callable[[Simulations], Iterator[Figure]]] = {
    "prefill_floor": prefill_floor,
    "cache_sharing": cache_sharing,
    "leak_rates": leak_rates,
    "boundary": boundary,
    "recall": recall,
}


def run(names: list[str], sizes: Simulations) -> int:
    """Run the named simulations, all of them by default; returns the number of missed bounds."""
    missed = 0
    for name in names or SIMULATIONS:
        print(f"{name}:", flush=True)
        for figure in SIMULATIONS[name](sizes):
            missed += figure.is_missed
            print(f"  {figure.line()}", flush=True)
    return missed


def main() -> None:
    """Arguments: names of simulations."""
    unknown = set(sys.argv[1:]) - set(SIMULATIONS)
    if unknown:
        sys.exit(f"no simulation {', '.join(sorted(unknown))}; there are: {', '.join(SIMULATIONS)}")
    began = time.process_time()
    missed = run(sys.argv[1:], FULL)
    print(f"{missed} missed; {time.process_time() - began:.0f} s of one core")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
