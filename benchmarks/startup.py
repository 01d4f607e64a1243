"""Start-up of the command line, beside a process that only imports httpx."""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks.figure import Figure, Sizes, beside

OURS = (sys.executable, "-m", "prober", "--version")
BARE = (sys.executable, "-c", "import httpx; httpx.AsyncClient(trust_env=False, verify=False)")


def startup(sizes: Sizes) -> Iterator[Figure]:
    """Wall and processor time of `prober --version`."""
    ours, bare = [], []
    for _ in range(sizes.repeats):
        ours.append(_run(OURS))
        bare.append(_run(BARE))
    for column, name in enumerate(("wall time", "CPU")):
        mine, other = [run[column] for run in ours], [run[column] for run in bare]
        yield Figure(
            name=f"start-up of prober --version, {name}",
            value=statistics.median(mine),
            unit="s",
            beside=beside("import httpx", mine, other, "s"),
        )


def _run(command: Sequence[str]) -> tuple[float, float]:
    """Wall and processor seconds."""
    began, used = time.perf_counter(), _children_seconds()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began, _children_seconds() - used


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
