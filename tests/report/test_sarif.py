"""SARIF 2.1.0, against the schema of the standard."""

import dataclasses
import json
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.exits import FailOn
from prober.domain.fault_kind import FaultKind
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.report.facts import facts_of
from prober.report.sarif import MOST_RESULTS, document, render
from tests.support.reports import a_clean_report, a_leak, a_probe_summary, a_report, report_of

SCHEMA = Path(__file__).parent / "data" / "sarif-2.1.0-rtm.5.json"


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Draft4Validator:
    """See data/NOTICE for where it is from."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    # A bracket too many makes it no pattern at all; OASIS' errata 01 mended it.
    for name in ("run", "toolComponent"):
        language = schema["definitions"][name]["properties"]["language"]
        assert language["pattern"] == "^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$"
        language["pattern"] = "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$"
    return jsonschema_rs.Draft4Validator(schema)


def run_of(report: RunReport, fail_on: FailOn = FailOn.VIOLATION) -> dict[str, object]:
    (run,) = document(facts_of(report, fail_on))["runs"]
    return run


@pytest.mark.parametrize("outcome", Outcome, ids=lambda each: each.value)
def test_it_fits_the_schema(outcome: Outcome, schema: jsonschema_rs.Draft4Validator):
    """Whatever the verdict, with and without findings."""
    for report in (report_of(outcome), report_of(outcome, is_about_run=True)):
        schema.validate(json.loads(render(facts_of(report))))


def test_the_schema_would_object(schema: jsonschema_rs.Draft4Validator):
    """It is the real one: a result without a message is refused."""
    log = json.loads(render(facts_of(a_report())))
    del log["runs"][0]["results"][0]["message"]

    assert not schema.is_valid(log)


@settings(max_examples=40)
@given(text=st.text(st.characters(codec=None), max_size=30))
def test_no_value_breaks_it(text: str, schema: jsonschema_rs.Draft4Validator):
    """Names and messages of any text."""
    report = a_report(findings=(a_leak(message=text),), probes=(a_probe_summary(tenant=text, request_id=text),))
    target = dataclasses.replace(report.run.campaign.target, name=text)
    campaign = dataclasses.replace(report.run.campaign, target=target)
    report = dataclasses.replace(report, run=dataclasses.replace(report.run, campaign=campaign))

    schema.validate(json.loads(render(facts_of(report))))


def test_rules_are_reasons_with_help_and_kinds():
    """Whoever sees an alert reads what it means, what to do first, and what it may be."""
    (rule,) = run_of(a_report(findings=(a_leak(kinds=(FaultKind.LIVE_WRITER,)),)))["tool"]["driver"]["rules"]

    assert rule["id"] == "foreign_canary"
    assert "First: stop traffic" in rule["help"]["text"]
    assert "K2, page reused under a live writer" in rule["help"]["text"]
    assert rule["properties"]["kinds"] == [{"code": "K2", "title": "page reused under a live writer"}]


def test_levels_follow_the_outcome_and_nothing_undecided_is_hidden():
    """A violation is an error, a suspicion a warning, and what could not be judged is shown as a note."""
    levels = {outcome: [each["level"] for each in run_of(report_of(outcome))["results"]] for outcome in Outcome}

    assert levels == {
        Outcome.VIOLATION: ["error"],
        Outcome.SUSPECT: ["warning"],
        Outcome.INCONCLUSIVE: ["note"],
        Outcome.CLEAN: [],
    }
    (invocation,) = run_of(report_of(Outcome.INCONCLUSIVE))["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 3)
    assert invocation["toolExecutionNotifications"]


def test_fingerprints_outlive_a_run_or_name_one_finding():
    """The partial one is the same in the next run, so that trackers fold; the whole one is of this finding alone."""
    first, second = a_leak(probe_label="seed_and_probe/0003"), a_leak(probe_label="seed_and_probe/0004")
    probes = (a_probe_summary(), a_probe_summary(label="seed_and_probe/0004"))
    one = run_of(a_report(findings=(first, second), probes=probes))["results"]
    other = a_report(findings=(first,), probes=probes)
    other = dataclasses.replace(other, run=dataclasses.replace(other.run, run_id="run-2"))
    (later,) = run_of(other)["results"]

    assert one[0]["partialFingerprints"] == one[1]["partialFingerprints"] == later["partialFingerprints"]
    assert len({each["fingerprints"]["isolationFinding/v1"] for each in (*one, later)}) == 3


def test_too_many_results_are_counted():
    """Trackers take so many; what is left out is said."""
    leaks = tuple(a_leak(probe_label=f"s/{number:05d}", sightings=()) for number in range(MOST_RESULTS + 3))
    run = run_of(a_report(findings=leaks))

    assert len(run["results"]) == MOST_RESULTS
    assert "3 further results" in run["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]


def test_a_clean_run_has_no_results_and_says_how_sure():
    """An empty list is no silence: verdict and bound stand beside it."""
    run = run_of(a_clean_report())

    assert run["results"] == []
    assert run["properties"]["verdict"] == "clean"
    assert "9.51%" in run["properties"]["bound"]
