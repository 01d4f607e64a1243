"""Which tests' lines are counted as covered: what `make test` itself relies on. True also where nothing is counted."""

import os
import sys
import threading

import pytest

from tests.conftest import COVERED_CHILDREN, is_counted


def tracers() -> tuple[object, object, object]:
    """Of this thread, of one that it starts, and what tells child processes to count."""
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(sys.gettrace()))
    thread.start()
    thread.join()
    return sys.gettrace(), seen[0], os.environ.get(COVERED_CHILDREN)


@pytest.mark.no_coverage
def test_an_uncounted_test_counts_nowhere(request: pytest.FixtureRequest):
    """Neither the test nor its threads and processes are slowed down by counting."""
    assert not is_counted(request.node)
    assert tracers() == (None, None, None)


def test_any_other_test_counts_everywhere(request: pytest.FixtureRequest):
    """A test without a mark counts in its threads and processes too, if anything is counted at all."""
    assert is_counted(request.node)
    assert len({tracer is None for tracer in tracers()}) == 1
