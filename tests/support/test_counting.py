"""Coverage counts the lines of small tests, and leaves whole clusters and processes their speed."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

SUITE = """
import os, sys
import pytest

def say(request, moment):
    with open("seen", "a") as file:
        print(request.node.name, moment, os.environ.get("COVERAGE_PROCESS_CONFIG"), file=file)

@pytest.fixture(autouse=True)
def seen(request):
    say(request, "setup")
    yield
    say(request, "teardown")

def test_quick(request):
    say(request, "call")

@pytest.mark.slow
def test_slow(request):
    say(request, "call")
"""


def test_an_uncounted_test_starts_uncounted_children_from_its_fixtures_too(tmp_path: Path):
    """A child that counts writes files of its own, on a disk that a test fills."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  slow\n")
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "", "COVERAGE_PROCESS_CONFIG": "told"},
        capture_output=True,
        timeout=60,
        check=True,
    )

    moments = ("setup", "call", "teardown")
    assert (tmp_path / "seen").read_text().splitlines() == [
        *(f"test_quick {moment} told" for moment in moments),
        *(f"test_slow {moment} None" for moment in moments),
    ]
