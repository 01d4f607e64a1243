"""The JSON report."""

import dataclasses
import json

import jsonschema_rs
import pytest

from prober.domain.outcome import Outcome
from prober.domain.trace import UNTRACED
from prober.domain.verdict import RunReport
from prober.report import json_report
from prober.report.facts import facts_of
from prober.report.json_report import SCHEMA
from tests.support.report_schema import FILE, text
from tests.support.reports import a_clean_report, a_leak, a_probe_summary, a_report, report_of


def render(report: RunReport) -> str:
    return json_report.render(facts_of(report))


def test_the_report_is_versioned_and_deterministic():
    """Two renderings of one set of facts are equal to the letter, and name their schema."""
    text = render(a_report())

    assert text == render(a_report())
    assert text.endswith("}\n")
    assert json.loads(text)["schema"] == SCHEMA


def test_every_fact_a_pipeline_needs_is_there():
    """Verdict, reasons, limits, spending, findings with attribution, probes."""
    facts = json.loads(render(a_report()))

    assert facts["run"]["started_at"] == "2026-09-01T12:00:00.000Z"
    assert facts["target"]["overlong_contract"] == "reject"
    assert facts["verdict"]["outcome"] == "violation"
    assert facts["verdict"]["reasons"] == ["foreign_canary", "served_over_limit"]
    assert facts["limits"] == {"largest_served": 681273, "smallest_rejected": None, "first_wrong": 681274}
    assert facts["spent"]["tokens"] == 1_900_512
    assert facts["spent"]["cap_tokens"] == 25_000_000
    (finding,) = facts["findings"]
    assert finding["attributions"][0]["tenant_name"] == "bravo"
    assert finding["attributions"][0]["probe_label"] == "seed_and_probe/0001"
    assert facts["probes"][0]["answer"] == "served_full"


def test_a_finding_about_the_run_names_no_probe():
    """Findings without a probe carry null, not an empty label."""
    facts = json.loads(render(a_report(findings=(a_leak(probe_label="", sightings=()),))))

    assert facts["findings"][0]["probe"] is None


def test_a_clean_report_states_its_bound():
    """A clean verdict says how much it excludes."""
    assert json.loads(render(a_clean_report()))["verdict"]["leak_rate_upper95"] == 0.0951


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Draft202012Validator:
    """As it is published."""
    return jsonschema_rs.Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")), validate_formats=True)


def test_the_schema_is_that_of_the_table():
    """After a change of docs/report.md: python -m tests.support.report_schema."""
    assert FILE.read_text(encoding="utf-8") == text()


@pytest.mark.parametrize("is_about_run", [False, True])
@pytest.mark.parametrize("outcome", Outcome, ids=lambda each: each.value)
def test_reports_fit_the_schema(outcome: Outcome, is_about_run: bool, schema: jsonschema_rs.Draft202012Validator):  # noqa: FBT001
    """Whatever the verdict; with gaps too, where a run is of an earlier version or was pruned."""
    report = report_of(outcome, is_about_run=is_about_run)
    bare = dataclasses.replace(report, probes=(a_probe_summary(trace=UNTRACED, status=None, prompt_tokens=None),))

    for each in (report, bare, dataclasses.replace(report, probes=())):
        schema.validate(json.loads(render(each)))


def test_the_schema_would_object(schema: jsonschema_rs.Draft202012Validator):
    """A field that is missing, of another type, or a code that there is not."""
    for place, value in (("schema", None), ("verdict", {}), ("probes", [{"label": 1}])):
        assert not schema.is_valid({**json.loads(render(a_report())), place: value})
    report = json.loads(render(a_report()))
    report["verdict"]["outcome"] = "green"
    assert not schema.is_valid(report)


def test_new_fields_break_no_reader(schema: jsonschema_rs.Draft202012Validator):
    """The schema of version 1 goes on fitting reports with more in them."""
    assert schema.is_valid({**json.loads(render(a_report())), "novelty": 1})


def test_a_run_of_an_earlier_version_has_no_made_up_context():
    """What nobody wrote down is null."""
    report = a_report()
    target = dataclasses.replace(report.run.campaign.target, context_tokens=0)
    campaign = dataclasses.replace(report.run.campaign, target=target)
    report = dataclasses.replace(report, run=dataclasses.replace(report.run, campaign=campaign))

    assert json.loads(render(report))["target"]["context_tokens"] is None
