"""Settings of all tests."""

import os

import hypothesis
import pytest

# A busy machine must not turn a slow example into a failure; hangs are pytest-timeout's to find.
hypothesis.settings.register_profile("prober", deadline=None)
hypothesis.settings.load_profile("prober")


@pytest.fixture(autouse=True, scope="session")
def _own_environment() -> None:
    """Settings of the person who runs the tests must not reach what is tested."""
    for name in [name for name in os.environ if name.startswith("PROBER_") and not name.startswith("PROBER_TEST_")]:
        del os.environ[name]
