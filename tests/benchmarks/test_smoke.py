"""Every benchmark runs, at sizes that say nothing about speed."""

import math
import sys
from collections.abc import Iterator

import pytest

from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.figure import Figure, Sizes, beside

TINY = Sizes(
    prompt_tokens=3_000,
    scan_characters=20_000,
    repeats=1,
    probes=4,
    blocks=1,
    in_flight=2,
    long_tokens=60_000,
    settle_seconds=1.0,
)


@pytest.mark.no_coverage
@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_measures_something(name: str):
    """Each benchmark yields figures above zero, each under a name of its own."""
    figures = list(BENCHMARKS[name](TINY))

    assert figures
    assert all(figure.value > 0 for figure in figures)
    assert len({figure.name for figure in figures}) == len(figures)


@pytest.mark.parametrize(
    ("value", "at_most", "at_least", "judgement"),
    [
        (1.0, 1.0, None, "met"),
        (1.1, 1.0, None, "MISSED"),
        (10.0, None, 10.0, "met"),
        (9.9, None, 10.0, "MISSED"),
        (math.nan, 10.0, None, "MISSED"),
        (math.nan, None, 10.0, "MISSED"),
        (5.0, None, None, "no bound"),
    ],
)
def test_a_missed_bound_is_said(value: float, at_most: float | None, at_least: float | None, judgement: str):
    """A figure on the wrong side of its bound or unknown reads MISSED and counts; one that just meets it does not."""
    figure = Figure(name="speed", value=value, unit="MB/s", at_most=at_most, at_least=at_least)

    assert judgement in figure.line()
    assert figure.is_missed is (judgement == "MISSED")


def test_ratios_are_taken_pair_by_pair():
    """A slow machine slows both sides: the ratio is the median of the pairs' ratios, not of the sums."""
    assert beside("bare", [2.0, 20.0, 3.0], [1.0, 10.0, 3.0], "ms") == "bare: 3 ms; ratio 2.00"


def test_missed_bounds_fail_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Every figure is printed under the machine it was measured on; missed bounds make the exit code 1."""

    def figures(_: Sizes) -> Iterator[Figure]:
        for value in (1.0, 3.0):
            yield Figure(name="memory", value=value, unit="x body", at_most=2.0)

    monkeypatch.setitem(BENCHMARKS, "memory", figures)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "memory"])

    with pytest.raises(SystemExit) as ended:
        main()

    machine, *lines = capsys.readouterr().out.splitlines()
    assert ended.value.code == 1
    assert "cores" in machine
    assert [" met" in line for line in lines] == [True, False]
    assert all("x body" in line for line in lines)


def test_unknown_names_are_refused(monkeypatch: pytest.MonkeyPatch):
    """A misspelt name runs nothing and says which names there are."""
    monkeypatch.setattr(sys, "argv", ["benchmarks", "compsing"])

    with pytest.raises(SystemExit, match=r"no benchmark compsing; there are: .*composing"):
        main()
