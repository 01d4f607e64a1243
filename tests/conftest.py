"""Settings of all tests, and what they need to run side by side (pytest-xdist)."""

import contextlib
import os
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest

from tests.support.turns import Turn, Turns

# A busy machine must not turn a slow example into a failure; hangs are pytest-timeout's to find.
hypothesis.settings.register_profile("prober", deadline=None)
hypothesis.settings.load_profile("prober")

COVERED_CHILDREN = "COVERAGE_PROCESS_CONFIG"
"""Where coverage.py tells child processes to measure too."""

TESTS = Path(__file__).parent
UNCOUNTED_FOLDERS = {"architecture", "benchmarks", "deploy", "engines", "reliability", "system", "web"}
UNCOUNTED_MARKS = {"no_coverage", "one_at_a_time", "slow"}

FOLDER = pytest.StashKey[str]()
TURNS = pytest.StashKey[Turns]()


@pytest.fixture(autouse=True, scope="session")
def _own_environment() -> None:
    """Settings of the person who runs the tests must not reach what is tested."""
    for name in [name for name in os.environ if name.startswith("PROBER_") and not name.startswith("PROBER_TEST_")]:
        del os.environ[name]


def turn_of(item: pytest.Item) -> Turn:
    """As its marks say."""
    marks = {mark.name for mark in item.iter_markers()}
    return next((turn for turn in Turn if turn.name.lower() in marks), Turn.BESIDE)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Before the workers start: each measures its coverage by itself, and not once more as a child of this process."""
    os.environ.pop(COVERED_CHILDREN, None)
    folder = tempfile.TemporaryDirectory(prefix="prober-turns-")
    config.add_cleanup(folder.cleanup)
    config.stash[FOLDER] = folder.name


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: pytest.Item) -> None:
    """Tell a worker where all of them wait for their turns."""
    node.workerinput["turns"] = node.config.stash[FOLDER]


def pytest_configure(config: pytest.Config) -> None:
    """Take part in the turns, as a worker."""
    if folder := getattr(config, "workerinput", {}).get("turns"):
        config.stash[TURNS] = turns = Turns(Path(folder))
        config.add_cleanup(turns.close)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order them for `--dist=worksteal`, which cuts the list into one stretch per worker.

    The first worker begins with all that exclude each other, the second with what takes long beside them.
    """
    exclusive = sorted((item for item in items if turn_of(item) is not Turn.BESIDE), key=turn_of)
    others = [item for item in items if turn_of(item) is Turn.BESIDE]
    slow = [item for item in others if item.get_closest_marker("slow")]
    quick = [item for item in others if not item.get_closest_marker("slow")]
    stretch = len(items) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    cut = max(0, stretch - len(exclusive))
    items[:] = exclusive + quick[:cut] + slow + quick[cut:]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Wait for the test's turn before its time limit begins."""
    turns = item.config.stash.get(TURNS, None)
    if turns is None:
        return (yield)
    with turns.take(turn_of(item), following=nextitem and turn_of(nextitem)):
        return (yield)


def is_counted(item: pytest.Item) -> bool:
    """Whether the lines that a test runs through count as covered.

    Counting makes our own code three to five times slower, and what a whole cluster or minutes of chance run through,
    smaller tests run through too: every line of the pure layers, by their own.
    """
    marks = {mark.name for mark in item.iter_markers()}
    folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else None
    return not marks & UNCOUNTED_MARKS and folder not in UNCOUNTED_FOLDERS


@contextlib.contextmanager
def _counting(item: pytest.Item) -> Generator[None]:
    """Count no lines of a test that needs none counted, nor of the threads and processes that it starts.

    pytest-cov's own mark does nothing in a worker: two measurements are nested there, and it stops the inner one only.
    """
    if is_counted(item):
        yield
        return
    tracer, of_threads = sys.gettrace(), threading.gettrace()
    children = os.environ.pop(COVERED_CHILDREN, None)
    sys.settrace(None)
    # Composing and reading run in threads, each of which would begin to count by itself.
    threading.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)
        threading.settrace(of_threads)
        if children is not None:
            os.environ[COVERED_CHILDREN] = children


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Its fixtures start processes too."""
    with _counting(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The test itself."""
    with _counting(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """As its fixtures were set up, they are taken down."""
    with _counting(item):
        return (yield)
