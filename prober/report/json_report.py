"""The JSON report: stable, versioned, deterministic for one set of facts. Documented in docs/report.md."""

import dataclasses
import datetime as dt
import enum
import json
from collections.abc import Mapping
from typing import Any

from prober.domain.finding import Finding
from prober.domain.verdict import ProbeSummary, RunReport, Spending
from prober.report.attribution import attributions
from prober.report.facts import Facts, ScenarioFacts

SCHEMA = "isolation-prober/run-report/1"
"""Changes only when a field is removed or changes its meaning; new fields may appear at any time."""


def render(facts: Facts) -> str:
    """Render as JSON text, two-space indented, ending in a newline."""
    return json.dumps(document(facts), indent=2, ensure_ascii=False) + "\n"


def document(facts: Facts) -> dict[str, Any]:
    """The report as plain JSON values."""
    report = facts.report
    run, campaign, target = report.run, report.run.campaign, report.run.campaign.target
    return {
        "schema": SCHEMA,
        "run": {
            "id": run.run_id,
            "trigger": run.trigger.value,
            "started_at": _plain(run.started_at),
            "ended_at": _plain(report.ended_at),
            "scenarios": list(campaign.scenarios),
            "rollout": _pairs(run.facts),
        },
        "target": {
            "name": target.name,
            "model": target.model,
            "dialect": target.dialect,
            "build": target.build,
            "context_tokens": target.context_tokens or None,
            "prefill_pool_tokens": target.prefill_pool_tokens,
            "decode_pool_tokens": target.decode_pool_tokens,
            "overlong_contract": target.overlong.value,
            "shared": target.shared,
        },
        "verdict": {
            **_plain(report.verdict),
            "exit_code": facts.exit.value,
            "fail_on": facts.fail_on.value,
            "missing_probes": facts.missing_probes,
        },
        "limits": _plain(report.limits),
        "estimate": _spending(report.estimate),
        "spent": _spending(report.spent) | {"cap_tokens": campaign.max_run_tokens},
        "scenarios": [_scenario(scenario) for scenario in facts.scenarios],
        "findings": [_finding(report, finding) for finding in report.findings],
        "probes": [_probe(probe) for probe in report.probes],
    }


def _scenario(scenario: ScenarioFacts) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "outcome": None if scenario.outcome is None else scenario.outcome.value,
        "probes": scenario.probes,
        "conclusive": scenario.conclusive,
        "clean": scenario.clean,
        "reasons": [group.reason.value for group in scenario.groups],
    }


def _finding(report: RunReport, finding: Finding) -> dict[str, Any]:
    return {
        "detector": finding.detector,
        "outcome": finding.outcome.value,
        "reason": finding.reason.value,
        "message": finding.message,
        "probe": finding.probe_label or None,
        "kinds": [{"code": kind.value, "title": kind.title} for kind in finding.kinds],
        "evidence_bits": round(finding.evidence_bits, 1),
        "confirmed": finding.is_confirmed,
        "attributions": [_plain(attribution) for attribution in attributions(report, finding)],
    }


def _probe(probe: ProbeSummary) -> dict[str, Any]:
    """One level: what came back stands beside what was sent."""
    fields = _plain(probe)
    trace = fields.pop("trace")
    trace["timing_trusted"] = trace.pop("is_timing_trusted")
    trace["stream"] = trace.pop("is_stream")
    trace["headers"] = _pairs(probe.trace.headers)
    return {**fields, **trace}


def _pairs(values: Mapping[str, str]) -> list[dict[str, str]]:
    """Names that others chose are values here: a schema can know its keys."""
    return [{"name": name, "value": value} for name, value in values.items()]


def _spending(spending: Spending) -> dict[str, int]:
    return {
        "requests": spending.requests,
        "prompt_tokens": spending.prompt_tokens,
        "output_tokens": spending.output_tokens,
        "tokens": spending.tokens,
    }


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON is Any
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
