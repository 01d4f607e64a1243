"""When the demo succeeds."""

import dataclasses

import pytest

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.service.demo import ACTS, Played
from tests.support.reports import STRANGER_CANARY, a_clean_report, a_leak, a_report, a_sighting

FIND, CLEAR = ACTS


@pytest.mark.parametrize(
    ("report", "is_as_expected"),
    [
        (a_report(), True),
        (a_clean_report(), False),
        (a_report(findings=()), False),
        (a_report(findings=(a_leak(sightings=(a_sighting(STRANGER_CANARY),)),)), False),
        (a_report(findings=(a_leak(reason=Reason.SERVED_OVER_LIMIT),)), False),
        (a_report(findings=(a_leak(outcome=Outcome.SUSPECT),)), False),
    ],
    ids=["attributed", "clean", "no-finding", "unknown-donor", "other-reason", "suspicion-only"],
)
def test_act_one_must_attribute_the_text_to_its_donor_s_request(report: RunReport, *, is_as_expected: bool):
    """A violation alone is not enough: whose text it was must be told, to the very request."""
    assert Played(act=FIND, report=report).is_as_expected is is_as_expected


@pytest.mark.parametrize("outcome", Outcome)
def test_act_two_must_be_clean(outcome: Outcome):
    """Neither a false alarm nor a run that could not tell clears the repaired cluster."""
    report = a_clean_report()
    report = dataclasses.replace(report, verdict=dataclasses.replace(report.verdict, outcome=outcome))

    assert Played(act=CLEAR, report=report).is_as_expected is (outcome is Outcome.CLEAN)
