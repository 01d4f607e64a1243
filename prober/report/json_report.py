"""The JSON report: stable, versioned, deterministic for one set of facts. Documented in docs/report.md."""

import dataclasses
import datetime as dt
import enum
import json
from collections.abc import Mapping
from typing import Any

from prober.domain.finding import Finding
from prober.domain.verdict import RunReport, Spending
from prober.report.attribution import attributions

SCHEMA = "isolation-prober/run-report/1"
"""Changes only when a field is removed or changes its meaning; new fields may appear at any time."""


def render(report: RunReport) -> str:
    """Render as JSON text, two-space indented, ending in a newline."""
    return json.dumps(facts(report), indent=2, ensure_ascii=False) + "\n"


def facts(report: RunReport) -> dict[str, Any]:
    """The report as plain JSON values."""
    run, campaign = report.run, report.run.campaign
    return {
        "schema": SCHEMA,
        "run": {
            "id": run.run_id,
            "trigger": run.trigger.value,
            "started_at": _plain(run.started_at),
            "ended_at": _plain(report.ended_at),
            "scenarios": list(campaign.scenarios),
        },
        "target": {
            "name": campaign.target.name,
            "model": campaign.target.model,
            "dialect": campaign.target.dialect,
            "build": campaign.target.build,
            "context_tokens": campaign.target.context_tokens,
            "prefill_pool_tokens": campaign.target.prefill_pool_tokens,
            "decode_pool_tokens": campaign.target.decode_pool_tokens,
            "overlong_contract": campaign.target.overlong.value,
            "shared": campaign.target.shared,
        },
        "verdict": _plain(report.verdict),
        "limits": _plain(report.limits),
        "estimate": _spending(report.estimate),
        "spent": _spending(report.spent) | {"cap_tokens": campaign.max_run_tokens},
        "findings": [_finding(report, finding) for finding in report.findings],
        "probes": [_plain(probe) for probe in report.probes],
    }


def _finding(report: RunReport, finding: Finding) -> dict[str, Any]:
    return {
        "detector": finding.detector,
        "outcome": finding.outcome.value,
        "reason": finding.reason.value,
        "message": finding.message,
        "probe": finding.probe_label or None,
        "evidence_bits": round(finding.evidence_bits, 1),
        "confirmed": finding.is_confirmed,
        "attributions": [_plain(attribution) for attribution in attributions(report, finding)],
    }


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
