"""Reference probes over time."""

import random

import pytest

from prober.detect.charts import fold_scores
from prober.detect.detectors.drift import detect_drift
from prober.domain.finding import Reason
from prober.domain.options import Arm, Trial
from prober.domain.outcome import Outcome
from prober.domain.reading import Recall
from tests.support.evidence import ALL_FOUND, ALL_MISSED, a_history, a_probe, a_reading, an_evidence


def asked(recall: Recall, scores: dict[str, float], cohort: str = "a"):
    trial = Trial(series="drift", number=1, arm=Arm.CHECK, cohort=cohort)
    return an_evidence(probe=a_probe(trial=trial), reading=a_reading(recall=recall), history=a_history(scores=scores))


@pytest.mark.parametrize(
    ("recall", "scores", "is_found"),
    [
        (ALL_MISSED, {"drift/a": 8.0}, True),
        (ALL_MISSED, {"drift/a": 6.0}, False),
        (ALL_MISSED, {"drift/b": 50.0}, False),
        (ALL_FOUND, {"drift/a": 50.0}, False),
    ],
)
def test_failures_that_become_common_warn(recall: Recall, scores: dict[str, float], *, is_found: bool):
    """By session or replica; a good answer never does."""
    found = detect_drift(asked(recall, scores))

    assert [(f.reason, f.outcome) for f in found] == ([(Reason.DRIFTED, Outcome.SUSPECT)] if is_found else [])
    assert all("change score" in finding.message for finding in found)


def probes_to_alarm(rng: random.Random, rate: float) -> int:
    scores: dict[str, float] = {}
    for probes in range(1, 5_000):
        evidence = asked(ALL_MISSED if rng.random() < rate else ALL_FOUND, scores)
        if detect_drift(evidence):
            return probes
        scores = dict(fold_scores(evidence))
    return 5_000


def test_a_slide_to_thirty_percent_is_seen_within_a_hundred_probes():
    """Published: 4-6 % wrong at first, then 16-32 % (SGLang issue #23020)."""
    rng = random.Random(1)
    delays = sorted(probes_to_alarm(rng, 0.3) for _ in range(20))

    assert delays[-2] <= 100


@pytest.mark.no_coverage
def test_an_honest_five_percent_does_not_alarm_in_thousands():
    """At most one alarm in 10,000 trials."""
    rng = random.Random(2)

    assert probes_to_alarm(rng, 0.05) == 5_000
