"""SARIF 2.1.0 (OASIS), as code-scanning pages and vulnerability trackers take it in.

Rules are reasons. Results are findings that are not clean: a violation is an error, a suspicion a warning, and what
could not be judged a note, since results of other kinds than `fail` are shown by few readers and would look like none.
"""

import collections
import hashlib
import json
import urllib.parse
from collections.abc import Mapping
from typing import Any

from prober import __version__
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.report.advice import advice_on, note_on
from prober.report.attribution import attributions, sentence
from prober.report.facts import Facts, Group
from prober.report.wording import MEANINGS, bound_words, certainty

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS = 5_000
"""GitHub shows 5,000 results of a run, and takes at most 25,000."""

_LEVELS = {Outcome.VIOLATION: "error", Outcome.SUSPECT: "warning", Outcome.INCONCLUSIVE: "note"}
_SEVERITIES = {Outcome.VIOLATION: "9.1", Outcome.SUSPECT: "5.9", Outcome.INCONCLUSIVE: "0.0"}
"""GitHub's `security-severity`: critical from 9.0, medium from 4.0."""


def render(facts: Facts) -> str:
    """Render as JSON text, two-space indented, ending in a newline."""
    return json.dumps(document(facts), indent=2, ensure_ascii=False) + "\n"


def document(facts: Facts) -> dict[str, Any]:
    """The log with its one run."""
    rules = _worst_groups(facts)
    results = [_result(facts, finding, rules) for group in facts.groups for finding in group.findings]
    report = facts.report
    run = {
        "tool": {
            "driver": {
                "name": "isolation-prober",
                "version": __version__,
                "rules": [_rule(reason, group) for reason, group in rules.items()],
            }
        },
        "automationDetails": {"id": f"isolation-prober/{facts.target}/{report.run.run_id}"},
        "invocations": [_invocation(facts, left_out=max(0, len(results) - MOST_RESULTS))],
        "results": results[:MOST_RESULTS],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "verdict": facts.outcome.value,
            "meaning": MEANINGS[facts.outcome],
            "reasons": [reason.value for reason in report.verdict.reasons],
            "probes": report.verdict.probes,
            "conclusive": report.verdict.conclusive,
            "clean": report.verdict.clean,
            "bound": bound_words(report.verdict),
            "build": report.run.campaign.target.build,
            "rollout": dict(report.run.facts),
        },
    }
    return {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}


def _worst_groups(facts: Facts) -> Mapping[Reason, Group]:
    """Each reason once, with its worst findings: groups come worst first."""
    found: dict[Reason, Group] = {}
    for group in facts.groups:
        found.setdefault(group.reason, group)
    return found


def _rule(reason: Reason, group: Group) -> dict[str, Any]:
    advice = advice_on(reason)
    counted = collections.Counter(kind for finding in group.findings for kind in finding.kinds)
    kinds = [kind for kind, _ in counted.most_common()]
    lines = [advice.meaning, f"First: {advice.first}"]
    lines += [f"Suspected kind of fault {kind.value}, {kind.title}: {note_on(kind).mechanism}" for kind in kinds]
    return {
        "id": reason.value,
        "name": "".join(word.capitalize() for word in reason.value.split("_")),
        "shortDescription": {"text": reason.value.replace("_", " ")},
        "fullDescription": {"text": advice.meaning},
        "help": {"text": "\n".join(lines)},
        "defaultConfiguration": {"level": _LEVELS[group.outcome]},
        "properties": {
            "tags": ["security", "isolation", *(kind.value for kind in kinds), "external/cwe/cwe-668"],
            "security-severity": _SEVERITIES[group.outcome],
            "kinds": [{"code": kind.value, "title": kind.title} for kind in kinds],
        },
    }


def _result(facts: Facts, finding: Finding, rules: Mapping[Reason, Group]) -> dict[str, Any]:
    probe = facts.probes.get(finding.probe_label)
    scenario = "" if probe is None else probe.scenario
    told = attributions(facts.report, finding)
    message = " ".join([finding.message, *(f"It holds {sentence(each)}." for each in told[:1])])
    return {
        "ruleId": finding.reason.value,
        "ruleIndex": list(rules).index(finding.reason),
        "kind": "fail",
        "level": _LEVELS[finding.outcome],
        "message": {"text": message},
        "locations": [_location(facts, finding, scenario)],
        "partialFingerprints": {"isolationIssue/v1": _digest(facts.target, finding.reason.value, scenario)},
        "fingerprints": {
            "isolationFinding/v1": _digest(
                facts.report.run.run_id, finding.probe_label, finding.detector, finding.reason.value
            )
        },
        "properties": {
            "outcome": finding.outcome.value,
            "detector": finding.detector,
            "confirmed": finding.is_confirmed,
            "evidence_bits": round(finding.evidence_bits, 1),
            "certainty": certainty(finding.evidence_bits),
            "request_id": "" if probe is None else probe.request_id,
            "kinds": [kind.value for kind in finding.kinds],
            "attributions": [sentence(each) for each in told],
        },
    }


def _location(facts: Facts, finding: Finding, scenario: str) -> dict[str, Any]:
    """There is no file to point at: readers that insist on one get a name that stands for the target."""
    place = "/".join(part for part in (facts.target, finding.probe_label or scenario) if part)
    uri = f"isolation-prober/{urllib.parse.quote(facts.target, safe='')}"
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}},
        "logicalLocations": [{"fullyQualifiedName": place, "kind": "resource"}],
    }


def _invocation(facts: Facts, *, left_out: int) -> dict[str, Any]:
    report = facts.report
    told = [
        {"level": "warning", "message": {"text": f"{group.reason.value}: {group.strongest.message}"}}
        for group in facts.groups
        if group.outcome is Outcome.INCONCLUSIVE
    ]
    if left_out:
        told.append({"level": "warning", "message": {"text": f"{left_out} further results are left out."}})
    return {
        # What could not be judged is no successful run: readers then say so, whatever the results.
        "executionSuccessful": facts.outcome is not Outcome.INCONCLUSIVE,
        "startTimeUtc": f"{report.run.started_at:%Y-%m-%dT%H:%M:%SZ}",
        "endTimeUtc": f"{report.ended_at:%Y-%m-%dT%H:%M:%SZ}",
        "exitCode": facts.exit.value,
        "exitCodeDescription": f"{facts.outcome.value}: {MEANINGS[facts.outcome]}",
        "toolExecutionNotifications": told,
    }


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
