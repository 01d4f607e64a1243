"""Show that nothing is lost; exit 1 if a bound is missed, 2 if a trial could not be held."""

import argparse
import asyncio
import contextlib
import datetime as dt
import pathlib
import platform
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence

from benchmarks.figure import Figure, machine
from reliability.database_failures import database_failures
from reliability.fleet import fleet
from reliability.kills import kills
from reliability.place import StageError
from reliability.sizes import FULL, QUICK, Sizes
from reliability.soak import soak

Part = Callable[[pathlib.Path, Sizes, int], Awaitable[list[Figure]]]

PARTS: dict[str, tuple[str, Part]] = {
    "A": ("Three replicas on one PostgreSQL", lambda folder, sizes, seed: fleet(folder, sizes.fleet, seed)),
    "B": ("SIGKILL of runs on SQLite", lambda folder, sizes, seed: kills(folder, sizes.kills, seed)),
    "C": ("An hour of service, compressed", lambda folder, sizes, seed: soak(folder, sizes.soak, seed)),
    "D": ("Database failures", lambda _folder, _sizes, _seed: database_failures()),
}


async def run(names: Sequence[str], sizes: Sizes, seed: int, kept: pathlib.Path | None = None) -> int:
    """Run the named parts; returns the number of missed bounds.

    Raises:
        StageError: a trial could not be held.
    """
    print(
        f"{dt.datetime.now(dt.UTC):%Y-%m-%d}, Python {platform.python_version()}, {machine()}, seed {seed}", flush=True
    )
    missed = 0
    for name in names:
        title, part = PARTS[name]
        began = asyncio.get_running_loop().time()
        with _folder(None if kept is None else kept / name) as folder:
            figures = await part(folder, sizes, seed)
        print(f"\n{name}. {title} ({asyncio.get_running_loop().time() - began:.0f} s)", flush=True)
        for figure in figures:
            missed += figure.is_missed
            print(figure.line(), flush=True)
    return missed


@contextlib.contextmanager
def _folder(kept: pathlib.Path | None) -> Iterator[pathlib.Path]:
    if kept is not None:
        kept.mkdir(parents=True)
        yield kept.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="prober-reliability-") as name:
        yield pathlib.Path(name)


def main() -> None:
    """Arguments: which parts, from which seed, how much."""
    parser = argparse.ArgumentParser(prog="python -m reliability", description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="letters, with commas (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a little of each, to see that it works")
    parser.add_argument("--folder", type=pathlib.Path, help="where databases and logs are kept (default: nowhere)")
    given = parser.parse_args()
    names = [name.strip().upper() for name in given.parts.split(",")]
    if unknown := set(names) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are: {', '.join(PARTS)}")
    try:
        missed = asyncio.run(run(names, QUICK if given.quick else FULL, given.seed, given.folder))
    except* StageError as errors:
        for error in errors.exceptions:
            print(f"could not be held: {error}", file=sys.stderr)
        sys.exit(2)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
