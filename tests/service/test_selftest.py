"""When a case of the self-test is met."""

import dataclasses

import pytest

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.lab.scenes import SCENES
from prober.plan.scenarios import SCENARIOS
from prober.service.selftest import CASES, Case, Checked
from tests.support.reports import a_leak, a_report

CASE = Case(
    name="any",
    lab_run=CASES[0].lab_run,
    outcome=Outcome.VIOLATION,
    reasons=(Reason.FOREIGN_CANARY, Reason.SERVED_OVER_LIMIT),
    absent=(Reason.LATE_ECHO,),
)
BOTH = CASE.reasons


@pytest.mark.parametrize(
    ("outcome", "reasons", "also_found", "is_met"),
    [
        (Outcome.VIOLATION, BOTH, None, True),
        (Outcome.VIOLATION, (*BOTH, Reason.RECALL_COLLAPSED), None, True),
        (Outcome.VIOLATION, BOTH[1:], None, False),
        (Outcome.SUSPECT, BOTH, None, False),
        (Outcome.CLEAN, (), None, False),
        (Outcome.VIOLATION, BOTH, Reason.USAGE_MISMATCH, True),
        (Outcome.VIOLATION, BOTH, Reason.LATE_ECHO, False),
    ],
)
def test_a_case_asks_for_verdict_and_reasons(
    outcome: Outcome, reasons: tuple[Reason, ...], also_found: Reason | None, *, is_met: bool
):
    """The right verdict for the wrong reason is a miss, and so is one beside a finding that must not be there."""
    found = () if also_found is None else (a_leak(reason=also_found),)
    report = a_report(findings=found)
    report = dataclasses.replace(report, verdict=dataclasses.replace(report.verdict, outcome=outcome, reasons=reasons))

    assert Checked(case=CASE, report=report).is_met is is_met


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
