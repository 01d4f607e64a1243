"""The JSON report."""

import json

from prober.report.json_report import SCHEMA, render
from tests.support.reports import a_clean_report, a_leak, a_report


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
