"""The simulations of the detection statistics, at sizes that say little; and the page that quotes them."""

import re
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.detection.__main__ import SIMULATIONS, main
from benchmarks.detection.cache_sharing import crossing_probability, stopping, thresholds
from benchmarks.detection.noise import Samples, cache_probe_alone, heavy_tailed, measured
from benchmarks.detection.prefill_floor import Cell, Noise
from benchmarks.detection.simulated import Simulations, generator
from benchmarks.figure import Figure
from prober.stats.eprocess import sign_e_value
from tests.support.markdown import document

TINY = Simulations(anchors=200, searches=2, pairs=50, chains=500, steps=400, counts=100)
PAGE = document("docs/detection.md")


@pytest.mark.no_coverage
@pytest.mark.parametrize("name", SIMULATIONS)
def test_every_figure_stands_in_the_document(name: str):
    """Each simulation runs; the page has each of its figures with its bound, and computed ones with their value."""
    figures = list(SIMULATIONS[name](TINY))
    lines = re.findall(r"^ {2}(\S.*)$", PAGE, re.MULTILINE)

    assert figures
    assert len({figure.name for figure in figures}) == len(figures)
    for figure in figures:
        quoted = next((line for line in lines if line.startswith(f"{figure.name} ")), None)
        assert quoted is not None, figure.name
        assert ("met" in quoted) is (figure.at_most is not None or figure.at_least is not None), figure.name
        bound = figure.at_most if figure.at_least is None else figure.at_least
        assert bound is None or f"{bound:g}" in quoted, figure.name
        if figure.beside.startswith("exact"):
            assert quoted.split() == figure.line().split(), figure.name


def test_no_figure_of_the_document_is_missed_or_made_up():
    """What the page quotes was printed by the command, and met its bound."""
    quoted = re.findall(r"^ {2}(\S.*)$", "".join(re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)), re.MULTILINE)
    printed = [figure.name for simulation in SIMULATIONS.values() for figure in simulation(TINY)]
    known = [next((name for name in printed if line.startswith(f"{name} ")), None) for line in quoted]

    assert None not in known
    assert len(quoted) == len(printed)
    assert "MISSED" not in PAGE


@pytest.mark.parametrize("noise", [measured, heavy_tailed, cache_probe_alone])
def test_noise_is_at_least_as_heavy_as_what_was_measured(noise: Noise):
    """Shares below and above the quantiles of detection-science 4 are those, or larger; half lie below the median."""
    ratios = noise(generator("test"), 100_000, 4).ravel()
    for edge, share in ((0.5, 20 / 22_488), (0.4, 6 / 22_488), (0.9, 0.074)):
        assert (ratios < edge).mean() >= share * 0.9
    for edge, share in ((3.0, 0.01), (9.5, 0.001)):
        assert (ratios > edge).mean() >= share * 0.9
    assert np.median(ratios) == pytest.approx(1.0, abs=0.02)


def test_the_heavier_model_has_no_least_ratio():
    """Below what was ever seen there is still something."""
    seen: Samples = heavy_tailed(generator("low"), 200_000, 2)
    assert 0.0 < seen.min() < 0.3


def test_thresholds_are_the_products_own():
    """At each count the least number of successes reaches the level, and one fewer does not."""
    least = thresholds(100.0, 60)
    for count in range(1, 61):
        if least[count] <= count:
            assert sign_e_value(int(least[count]), count - int(least[count])) >= 100.0
        assert sign_e_value(int(least[count]) - 1, count - int(least[count]) + 1) < 100.0


def test_the_exact_crossing_chance_is_the_simulated_one():
    """Both ways of asking how often a coin crosses agree."""
    least = thresholds(10.0, 200)
    crossed = (stopping(generator("agree"), least, 0.5, 20_000) <= 200).mean()
    assert crossing_probability(least) == pytest.approx(crossed, abs=0.006)


def test_alarms_come_with_the_noise():
    """The floor that no honest prefill passes is passed by nobody without noise, and skipped ones are caught."""
    cell = Cell(size=262_144, timings=10, noise=lambda _rng, trials, each: np.ones((trials, each)))
    honest, skipped = cell.rates(generator("quiet"), 300)
    assert honest.min() > 1.0
    assert skipped.max() < 1.0


def test_a_missed_bound_fails_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Every figure is printed; one on the wrong side of its bound makes the exit code 1."""

    def figures(_: Simulations) -> Iterator[Figure]:
        for value in (1.0, 3.0):
            yield Figure(name="false alarms", value=value, unit="", at_most=2.0)

    monkeypatch.setitem(SIMULATIONS, "recall", figures)
    monkeypatch.setattr(sys, "argv", ["detection", "recall"])
    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 1
    assert capsys.readouterr().out.count("false alarms") == 2


def test_unknown_names_are_refused(monkeypatch: pytest.MonkeyPatch):
    """A misspelt name runs nothing and says which names there are."""
    monkeypatch.setattr(sys, "argv", ["detection", "recal"])
    with pytest.raises(SystemExit, match=r"no simulation recal; there are: .*recall"):
        main()
