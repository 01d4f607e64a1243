"""Tests that exclude each other do so in workers too, and what hangs there is a failure."""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.turns import Turn, Turns

ROOT = Path(__file__).parents[2]

SUITE = """
import json, os, threading, time
import pytest

@pytest.fixture(autouse=True)
def seen(request):
    began = time.monotonic()
    yield
    line = [request.node.originalname, os.environ["PYTEST_XDIST_WORKER"], began, time.monotonic()]
    with open("seen", "a") as file:
        file.write(json.dumps(line) + "\\n")

@pytest.mark.parametrize("number", range(12))
def test_beside(number):
    time.sleep(0.05)

@pytest.mark.one_at_a_time
@pytest.mark.parametrize("number", range(12))
def test_heavy(number):
    time.sleep(0.05)

@pytest.mark.alone
@pytest.mark.parametrize("number", range(12))
def test_alone(number):
    time.sleep(0.05)

@pytest.mark.timeout(0.5)
def test_hang():
    threading.Event().wait()
"""
SETTINGS = "[pytest]\naddopts = --strict-markers\nmarkers =\n  alone\n  one_at_a_time\n"


@dataclasses.dataclass(frozen=True)
class Seen:
    """When a test ran, and where."""

    test: str
    worker: str
    began: float
    ended: float

    def meets(self, other: "Seen") -> bool:
        return self.began < other.ended and other.began < self.ended


@dataclasses.dataclass(frozen=True)
class Ran:
    """What a suite said, and what its tests saw."""

    said: str
    seen: list[Seen]

    def together(self, *tests: str) -> list[tuple[Seen, Seen]]:
        """Pairs of runs that met: of the first test, and of any of the others."""
        mine = [one for one in self.seen if one.test == tests[0]]
        others = [one for one in self.seen if one.test in tests[1:]]
        return [(one, other) for one in mine for other in others if one != other and one.meets(other)]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A small suite in three workers."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_suite.py").write_text(SUITE)
    (folder / "pytest.ini").write_text(SETTINGS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-n3", "--dist=load", "-p", "no:cacheprovider"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = (folder / "seen").read_text().splitlines()
    return Ran(done.stdout + done.stderr, [Seen(*json.loads(line)) for line in lines])


def test_a_hang_in_a_worker_fails_and_the_others_go_on(ran: Ran):
    """The time limit holds in a worker, and costs that one test only."""
    assert "test_hang - Failed: Timeout (>0.5s) from pytest-timeout" in ran.said
    assert "= 1 failed, 36 passed in " in ran.said


def test_nothing_runs_beside_a_test_that_is_alone(ran: Ran):
    """Not even another one that is alone."""
    assert sum(one.test == "test_alone" for one in ran.seen) == 12
    assert ran.together("test_alone", "test_alone", "test_heavy", "test_beside") == []


def test_heavy_tests_run_one_at_a_time(ran: Ran):
    """Others run beside them, or one worker would do."""
    assert sum(one.test == "test_heavy" for one in ran.seen) == 12
    assert ran.together("test_heavy", "test_heavy") == []
    assert ran.together("test_beside", "test_beside", "test_heavy") != []


class Entered:
    """A turn of a worker of its own, in a thread, until told to leave."""

    def __init__(self, folder: Path, turn: Turn) -> None:
        self._is_in = threading.Event()
        self._may_leave = threading.Event()
        self._thread = threading.Thread(target=self._stay, args=(folder, turn))
        self._thread.start()

    def _stay(self, folder: Path, turn: Turn) -> None:
        with contextlib.closing(Turns(folder)) as turns, turns.take(turn):
            self._is_in.set()
            self._may_leave.wait(20)

    def is_in(self, seconds: float = 20) -> bool:
        return self._is_in.wait(seconds)

    def leave(self) -> None:
        self._may_leave.set()
        self._thread.join(20)


def test_whoever_waits_to_be_alone_is_not_overtaken(tmp_path: Path):
    """Those that came before go on, later ones wait."""
    running = Entered(tmp_path, Turn.BESIDE)
    assert running.is_in()
    lonely = Entered(tmp_path, Turn.ALONE)
    assert not lonely.is_in(0.2)
    late = Entered(tmp_path, Turn.BESIDE)
    assert not late.is_in(0.2)

    running.leave()

    assert lonely.is_in()
    assert not late.is_in(0.2)
    lonely.leave()
    assert late.is_in()
    late.leave()


def test_waiting_for_another_heavy_one_holds_up_nobody(tmp_path: Path):
    """Light tests run beside the heavy one that runs and the heavy one that waits."""
    heavy = Entered(tmp_path, Turn.ONE_AT_A_TIME)
    assert heavy.is_in()
    waiting = Entered(tmp_path, Turn.ONE_AT_A_TIME)
    assert not waiting.is_in(0.1)
    light = Entered(tmp_path, Turn.BESIDE)
    assert light.is_in()
    light.leave()

    heavy.leave()

    assert waiting.is_in()
    waiting.leave()


def test_nobody_gets_between_two_turns_that_are_alone(tmp_path: Path):
    """The room is kept until the last of them."""
    with contextlib.closing(Turns(tmp_path)) as lonely:
        with lonely.take(Turn.ALONE, following=Turn.ALONE):
            waiting = Entered(tmp_path, Turn.BESIDE)
            assert not waiting.is_in(0.1)
        assert not waiting.is_in(0.1)
        with lonely.take(Turn.ALONE, following=Turn.BESIDE):
            assert not waiting.is_in(0.1)

        assert waiting.is_in()
    waiting.leave()


def test_a_worker_that_died_is_not_waited_for(tmp_path: Path):
    """Its locks go with it."""
    with contextlib.closing(Turns(tmp_path)) as dead:
        with dead.take(Turn.ALONE, following=Turn.ALONE):
            pass
        waiting = Entered(tmp_path, Turn.BESIDE)
        assert not waiting.is_in(0.1)

    assert waiting.is_in()
    waiting.leave()
