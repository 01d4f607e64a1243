"""The alert rules: each fires when it must, only then, and stops."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.deploy.alert_case import Case
from tests.deploy.alert_cases import CASES
from tests.support.monitoring import RULES, checked

ANNOTATIONS = {"summary", "description", "runbook_url"}
SEVERITIES = {"critical", "warning"}
PAGING = {"TenantLeak", "PrefillTooFastAgain", "ProberAbsent", "NoScheduledRun", "SelfTestFailed"}
"""What gets somebody out of bed: a leak, and that nobody would see one."""


def rules() -> list[dict[str, Any]]:
    groups = YAML(typ="safe").load(RULES)["groups"]
    return [rule for group in groups for rule in group["rules"]]


ALERTS = {rule["alert"]: rule for rule in rules() if "alert" in rule}


def needed(alert: str, *, annotated: bool) -> dict[str, Any]:
    """The rule of an alert and the facts it is made of, as a rules file: the others would only cost time."""
    kept = [dict(rule) for rule in rules() if "record" in rule and rule["record"] in ALERTS[alert]["expr"]]
    kept.append(dict(ALERTS[alert]))
    if not annotated:
        # promtool compares words to the letter.
        kept[-1].pop("annotations")
    return {"groups": [{"name": "needed", "rules": kept}]}


def promtool_test(folder: Path, case: Case, *, annotated: bool = False) -> subprocess.CompletedProcess[str]:
    """Hand one case to promtool; with annotations up to the first minute at which something fires."""
    rules_file = folder / "rules.yaml"
    rules_file.write_text(json.dumps(needed(case.alert, annotated=annotated)), encoding="utf-8")
    added = ALERTS[case.alert]["labels"]
    first = next(minute for minute, expected in case.expected.items() if expected or not annotated)
    minutes = [first] if annotated else list(case.expected)
    test = {
        "interval": case.interval,
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [
            {
                "eval_time": f"{minute}m",
                "alertname": case.alert,
                "exp_alerts": [{"exp_labels": {**added, **labels}} for labels in case.expected[minute]],
            }
            for minute in minutes
        ],
    }
    file = folder / "test.yaml"
    document = {"rule_files": [str(rules_file)], "evaluation_interval": case.interval, "tests": [test]}
    file.write_text(json.dumps(document), encoding="utf-8")
    return checked("promtool", "test", "rules", file)


def test_promtool_accepts_the_rules():
    """Syntax, types, templates, no rule twice."""
    done = checked("promtool", "check", "rules", RULES)

    assert done.returncode == 0, done.stderr + done.stdout


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.why}")
def test_an_alert_fires_when_it_must_and_only_then(tmp_path: Path, case: Case):
    """The course of events of the case, minute by minute, as promtool evaluates it."""
    done = promtool_test(tmp_path, case)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_is_shown_to_be_silent_to_fire_and_to_end(alert: str):
    """In one course of events at least it is silent at first, then fires, then is over."""
    courses = [
        ["1" if expected else "0" for _, expected in sorted(case.expected.items())]
        for case in CASES
        if case.alert == alert
    ]

    assert any("01" in "".join(course) for course in courses)
    assert any("10" in "".join(course) for course in courses)


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_says_what_to_do(alert: str):
    """Whom to wake, what happened, what it means, and the page that says what to do."""
    rule = ALERTS[alert]

    assert rule["labels"]["severity"] in SEVERITIES
    assert (rule["labels"]["severity"] == "critical") == (alert in PAGING)
    assert set(rule["annotations"]) == ANNOTATIONS
    assert rule["annotations"]["runbook_url"].endswith(f"/{alert}.md")


@pytest.mark.parametrize("alert", ALERTS)
def test_the_words_of_an_alert_can_be_filled_in(tmp_path: Path, alert: str):
    """Every template finds its values: promtool, told of no annotations, shows those that it got."""
    case = next(case for case in CASES if case.alert == alert and any(case.expected.values()))
    done = promtool_test(tmp_path, case, annotated=True)
    shown = done.stdout + done.stderr
    first = str(ALERTS[alert]["annotations"]["runbook_url"]).rpartition("/")[2]

    assert f"https://prober.example/docs/runbooks/{first}" in shown
    for fault in ("error expanding", "<no value>", "%!", "{{"):
        assert fault not in shown


def test_no_alert_names_a_series_that_nobody_writes(documented_series: Mapping[str, object]):
    """A rule on a series that was renamed would be silent for ever."""
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    named = {
        name
        for rule in rules()
        for name in re.findall(r"\b(?:[a-z_]+:)?prober_[a-z0-9_]+(?::[a-z]+)?", str(rule["expr"]))
    }

    assert named - recorded <= set(documented_series)
    assert recorded <= named, "a fact that nothing is made of"
