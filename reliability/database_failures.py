"""The tests of a database that is full, read-only, gone for a minute, or whose clock was stepped back."""

import asyncio
import pathlib
import re
import sys

from benchmarks.figure import Figure
from reliability.place import finish

TESTS = tuple(
    f"tests/system/test_{name}.py" for name in ("database_failures", "clock_stepped_back", "processes_without_database")
)
MOST_SECONDS = 1_800.0
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)")


async def database_failures() -> list[Figure]:
    """Run them in a process of their own.

    Raises:
        StageError: they do not end.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", *TESTS, "-q", "-n0", "-p", "no:cacheprovider"),
        cwd=pathlib.Path(__file__).parents[1],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    ended = await finish(process, MOST_SECONDS)
    last = (ended.stdout.strip().splitlines() or [""])[-1]
    counts = {what: int(count) for count, what in _COUNT.findall(last)}
    passed = counts.pop("passed", 0)
    return [
        Figure(
            name="tests of database failures that passed",
            value=passed,
            unit="tests",
            at_least=1,
            beside=", ".join(TESTS),
        ),
        Figure(name="that did not", value=sum(counts.values()), unit="tests", at_most=0, beside=last if counts else ""),
        Figure(name="exit code of pytest", value=ended.code, unit="", at_most=0),
    ]
