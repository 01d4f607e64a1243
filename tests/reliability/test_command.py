"""`python -m reliability`: a little of each part, and how missed bounds and bad arguments end."""

import pathlib
import subprocess
import sys
from collections.abc import Sequence

import pytest

from benchmarks.figure import Figure
from reliability import __main__ as command
from reliability.place import StageError

ROOT = pathlib.Path(__file__).parents[2]


def called(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["reliability", *arguments])
    with pytest.raises(SystemExit) as ended:
        command.main()
    return int(ended.value.code or 0)


def yielding(monkeypatch: pytest.MonkeyPatch, *values: float) -> None:
    """Let part B measure so many lost runs."""

    async def part(*_: object) -> list[Figure]:
        return [Figure(name="lost", value=value, unit="runs", at_most=0) for value in values]

    monkeypatch.setitem(command.PARTS, "B", ("Kills", part))


@pytest.mark.slow
@pytest.mark.one_at_a_time
@pytest.mark.no_coverage
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", "ABC")
def test_a_little_of_each_part_holds(part: str):
    """Real replicas, real kills, a real PostgreSQL: every bound of the quick form is met."""
    ended = subprocess.run(
        [sys.executable, "-m", "reliability", "--quick", "--parts", part],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "MISSED" not in ended.stdout
    assert ended.stdout.count(" met") >= 7


@pytest.mark.parametrize(("values", "code"), [([0, 0], 0), ([0, 1], 1), ([float("nan")], 1)])
def test_a_missed_bound_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], values: Sequence[float], code: int
):
    """Figures are printed under machine and seed; one that is missed, or unknown, makes the exit code 1."""
    yielding(monkeypatch, *values)

    assert called(monkeypatch, "--parts", "b", "--seed", "7") == code
    first, *lines = capsys.readouterr().out.splitlines()
    assert "cores" in first
    assert "seed 7" in first
    assert sum("lost" in line for line in lines) == len(values)


def test_a_trial_that_could_not_be_held_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """What stood in the way is said, and the exit code is 2: nothing was shown."""

    async def part(*_: object) -> list[Figure]:
        raise StageError("no PostgreSQL")

    monkeypatch.setitem(command.PARTS, "B", ("Kills", part))

    assert called(monkeypatch, "--parts", "B") == 2
    assert "no PostgreSQL" in capsys.readouterr().err


def test_unknown_parts_are_refused(monkeypatch: pytest.MonkeyPatch):
    """A misspelt part runs nothing."""
    assert called(monkeypatch, "--parts", "A,X") == 2
