"""Recall alone and beside others."""

import math

import pytest

from prober.detect.detectors.lost_under_load import WARN_ALPHA, detect_lost_under_load
from prober.detect.ladder import JOINING_BITS
from prober.domain.evidence import Evidence
from prober.domain.finding import Reason
from prober.domain.options import Arm, Trial
from prober.domain.outcome import Outcome
from prober.domain.reading import Recall
from prober.domain.series import SeriesTally
from prober.stats.contingency import excess_p_value, spent_alpha
from tests.support.evidence import ALL_FOUND, ALL_MISSED, a_history, a_probe, a_reading, an_evidence


def loaded(
    alone: tuple[int, int] | None,
    *under_load: tuple[int, int],
    series: str = "parallel/8",
    recall: Recall = ALL_MISSED,
) -> Evidence:
    """One more answer at concurrency 8, after (missed, asked) alone and at 2, 4, ..."""
    tallies = {f"parallel/{2 ** (1 + i)}": counts for i, counts in enumerate(under_load)}
    if alone is not None:
        tallies["parallel/1"] = alone
    tallies["other/8"] = tallies["parallel/\u00b2"] = tallies["drift"] = (50, 50)
    return an_evidence(
        probe=a_probe(trial=Trial(series=series, number=1, arm=Arm.CHECK)),
        reading=a_reading(recall=recall),
        history=a_history(
            series={name: SeriesTally(missed=missed, asked=asked) for name, (missed, asked) in tallies.items()}
        ),
    )


@pytest.mark.parametrize(
    ("evidence", "is_found"),
    [
        (loaded((0, 24), (11, 12), (11, 12)), True),
        (loaded((0, 24), (5, 24)), False),
        (loaded((0, 100), (24, 99)), True),
        (loaded((20, 24), (23, 24)), False),
        (loaded((0, 0), (49, 50)), False),
        (loaded(None, (49, 50)), False),
        (loaded((0, 24), (23, 24), recall=ALL_FOUND), False),
        (loaded((0, 24), (23, 24), series="parallel/1"), False),
        (loaded((0, 24), (23, 24), series="parallel/\u00b2"), False),
        (loaded((0, 24), (23, 24), series="drift"), False),
        (loaded((0, 24), (23, 24), series="replay/8"), False),
        (an_evidence(reading=a_reading(recall=ALL_MISSED)), False),
    ],
)
def test_misses_beside_others_count_against_misses_alone(evidence: Evidence, *, is_found: bool):
    """Pooled over all concurrencies, whatever the LLM's own rate of misses; the present answer is one of them."""
    found = detect_lost_under_load(evidence)

    assert bool(found) is is_found
    assert all((f.reason, f.outcome) == (Reason.LOST_UNDER_LOAD, Outcome.SUSPECT) for f in found)


def test_the_level_is_shared_out_over_the_looks():
    """A healthy run is warned with probability 1e-4, however often it is looked at; evidence is told in bits."""
    (finding,) = detect_lost_under_load(loaded((0, 24), (22, 24)))

    p_value = excess_p_value(failures=23, trials=25, other_failures=0, other_trials=24)
    assert finding.evidence_bits == pytest.approx(-math.log2(p_value / spent_alpha(1.0, 23)))
    assert finding.evidence_bits > JOINING_BITS
    assert p_value <= spent_alpha(WARN_ALPHA, 23)
    assert "23 of 25" in finding.message
    assert "0 of 24" in finding.message


def test_the_evidence_stays_finite():
    """Thousands of misses are evidence enough."""
    (finding,) = detect_lost_under_load(loaded((0, 4_000), (4_000, 4_000)))

    assert finding.evidence_bits == pytest.approx(99.66, abs=0.01)
