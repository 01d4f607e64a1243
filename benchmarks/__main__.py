"""Print every figure; exit 1 if one misses its bound."""

import datetime as dt
import platform
import sys
from collections.abc import Callable, Iterator

from benchmarks.composing import composing
from benchmarks.figure import FULL, Figure, Sizes, machine
from benchmarks.first_token import first_token
from benchmarks.idle_service import idle_service
from benchmarks.memory import memory
from benchmarks.scanning import scanning
from benchmarks.short_probes import short_probes
from benchmarks.startup import startup

BENCHMARKS: dict[str, Callable[[Sizes], Iterator[Figure]]] = {
    "composing": composing,
    "memory": memory,
    "idle_service": idle_service,
    "scanning": scanning,
    "short_probes": short_probes,
    "first_token": first_token,
    "startup": startup,
}


def run(names: list[str], sizes: Sizes) -> int:
    """Run the named benchmarks, all of them by default; returns the number of missed bounds."""
    print(f"{dt.datetime.now(dt.UTC):%Y-%m-%d}, Python {platform.python_version()}, {machine()}", flush=True)
    missed = 0
    for name in names or BENCHMARKS:
        for figure in BENCHMARKS[name](sizes):
            missed += figure.is_missed
            print(figure.line(), flush=True)
    return missed


def main() -> None:
    """Arguments: names of benchmarks."""
    unknown = set(sys.argv[1:]) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(BENCHMARKS)}")
    sys.exit(1 if run(sys.argv[1:], FULL) else 0)


if __name__ == "__main__":
    main()
