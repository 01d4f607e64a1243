"""When a case of the self-test is met."""

import dataclasses

import pytest

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.lab.scenes import SCENES
from prober.plan.scenarios import SCENARIOS
from prober.service.selftest import CASES, Checked
from tests.support.reports import a_report


@pytest.mark.parametrize(
    ("outcome", "reasons", "is_met"),
    [
        (Outcome.VIOLATION, CASES[0].reasons, True),
        (Outcome.VIOLATION, (*CASES[0].reasons, Reason.RECALL_COLLAPSED), True),
        (Outcome.VIOLATION, CASES[0].reasons[1:], False),
        (Outcome.SUSPECT, CASES[0].reasons, False),
        (Outcome.CLEAN, (), False),
    ],
)
def test_a_case_asks_for_verdict_and_reasons(outcome: Outcome, reasons: tuple[Reason, ...], is_met: bool):  # noqa: FBT001
    """The right verdict for the wrong reason is a miss."""
    report = a_report()
    verdict = dataclasses.replace(report.verdict, outcome=outcome, reasons=reasons)

    assert Checked(case=CASES[0], report=dataclasses.replace(report, verdict=verdict)).is_met is is_met


def test_cases_name_what_exists_and_are_named_once():
    """Every case can be run, and asked for by name."""
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.lab_run.scene in SCENES for case in CASES)
    assert all(set(case.lab_run.scenarios) <= SCENARIOS.keys() for case in CASES)


def test_the_self_test_holds_faulty_and_healthy_clusters():
    """A prober that always alarms fails it, and one that never does."""
    outcomes = {case.outcome for case in CASES}

    assert {Outcome.VIOLATION, Outcome.CLEAN} <= outcomes
    assert all(case.reasons for case in CASES if case.outcome is Outcome.VIOLATION)
