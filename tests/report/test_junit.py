"""JUnit XML, as CI servers count it."""

import dataclasses
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.exits import FailOn
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.report.facts import facts_of
from prober.report.junit import render
from tests.support.reports import a_clean_report, a_leak, a_probe_summary, a_report, report_of


def read(report: RunReport, fail_on: FailOn = FailOn.VIOLATION) -> ET.Element:
    return ET.fromstring(render(facts_of(report, fail_on)))  # noqa: S314 - our own markup


def kinds(root: ET.Element) -> dict[str, list[str]]:
    """Test case -> what stands in it."""
    return {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}


def test_each_scenario_is_a_test_case_and_the_run_is_one():
    """A violation fails its own scenario, and no other."""
    probes = (a_probe_summary(label="baseline/0001", scenario="baseline", outcome=Outcome.CLEAN), a_probe_summary())
    sound = dataclasses.replace(a_clean_report().findings[0], probe_label="baseline/0001")
    root = read(a_report(probes=probes, findings=(a_leak(), sound)))

    assert kinds(root) == {"run": [], "baseline": [], "seed_and_probe": ["failure"]}
    (failure,) = root.iter("failure")
    assert failure.get("message") == "violation: foreign_canary"
    assert "36.6 bits" in failure.text
    assert "first: stop traffic" in failure.text


@pytest.mark.parametrize("fail_on", FailOn, ids=lambda each: each.value)
@pytest.mark.parametrize("is_about_run", [False, True])
@pytest.mark.parametrize("outcome", Outcome, ids=lambda each: each.value)
def test_red_is_what_does_not_exit_with_0(outcome: Outcome, is_about_run: bool, fail_on: FailOn):  # noqa: FBT001
    """Failures are there exactly where the exit code is 1, errors alone where it is 3, neither where it is 0."""
    report = report_of(outcome, is_about_run=is_about_run)
    root, code = read(report, fail_on), facts_of(report, fail_on).exit
    failures, errors = len(list(root.iter("failure"))), len(list(root.iter("error")))

    assert (failures > 0, errors > 0) == {0: (False, False), 1: (True, False), 3: (False, True)}[code]
    for suite in (root, *root.iter("testsuite")):
        assert (suite.get("failures"), suite.get("errors")) == (str(failures), str(errors))
        assert suite.get("tests") == str(len(list(root.iter("testcase"))))


def test_a_scenario_that_sent_nothing_is_skipped_and_never_green():
    """It is no passed test; beside it the run is red, unless it is clean without it."""
    root = read(report_of(Outcome.INCONCLUSIVE, is_about_run=True))

    assert kinds(root) == {"run": ["error"], "baseline": ["skipped"], "seed_and_probe": []}
    assert root.get("skipped") == "1"


def test_what_is_no_longer_kept_says_so():
    """Pruned probes are no scenario that sent nothing."""
    assert "no longer kept" in render(facts_of(dataclasses.replace(a_clean_report(), findings=())))


def test_a_verdict_that_no_scenario_shows_is_the_runs():
    """A clean-looking run that judged nothing is an error of the run as a whole."""
    report = report_of(Outcome.CLEAN)
    verdict = dataclasses.replace(report.verdict, outcome=Outcome.INCONCLUSIVE)

    assert kinds(read(dataclasses.replace(report, verdict=verdict)))["run"] == ["error"]


@given(st.text(st.characters(codec=None), max_size=40))
def test_no_value_breaks_the_file(text: str):
    """Control characters, markup and surrogates in names and messages leave XML 1.0 that any parser takes."""
    report = a_report(findings=(a_leak(message=text),), probes=(a_probe_summary(tenant=text),))
    report = dataclasses.replace(report, run=dataclasses.replace(report.run, facts={"service": text}, run_id=text))

    assert read(report).tag == "testsuites"
    render(facts_of(report)).encode("utf-8")


def test_rollout_and_counts_are_properties():
    """CI servers show them beside the suite."""
    told = {each.get("name"): each.get("value") for each in read(a_report()).iter("property")}

    assert (told["rollout.service"], told["rollout.revision"]) == ("chat", "42")
    assert (told["verdict"], told["exit_code"], told["probes"]) == ("violation", "1", "9")
