"""Writes the JSON report's schema from its table in docs/report.md: `python -m tests.support.report_schema`."""

import enum
import json
import re
from pathlib import Path
from typing import Any

from prober.domain.answer import Answer
from prober.domain.campaign import Trigger
from prober.domain.exits import Exit, FailOn
from prober.domain.finding import Reason
from prober.domain.observation import FailureKind, RefusalReason
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Role
from prober.domain.reading import Tier
from prober.domain.target import OverlongContract
from prober.report.json_report import SCHEMA
from tests.support.markdown import ROOT, codes, document, rows, section

FILE = ROOT / "docs" / "run-report-1.schema.json"

_TYPES: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "int": {"type": "integer"},
    "number": {"type": "number"},
    "bool": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
}
_CODES: dict[str, type[enum.Enum]] = {
    "outcome": Outcome,
    "trigger": Trigger,
    "overlong_contract": OverlongContract,
    "reasons": Reason,
    "reason": Reason,
    "fail_on": FailOn,
    "tier": Tier,
    "role": Role,
    "expectation": Expectation,
    "answer": Answer,
    "failure": FailureKind,
    "refusal": RefusalReason,
    "exit_code": Exit,
}
"""Last name of a field of type `code` -> its values."""


def schema() -> dict[str, Any]:
    """Build it; what the table does not name may be there, since new fields may appear."""
    root: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        "title": "Run report of the isolation prober",
        **_object(),
    }
    for cells in rows(section(document("docs/report.md"), "## The JSON report")):
        _add(root, codes(cells[0])[0].split("."), cells[1], cells[2])
    return root


def _object() -> dict[str, Any]:
    return {"type": "object", "required": [], "properties": {}}


def _add(place: dict[str, Any], path: list[str], kind: str, meaning: str) -> None:
    name, is_list = path[0].removesuffix("[]"), path[0].endswith("[]")
    if name not in place["properties"]:
        place["properties"][name] = {"type": "array", "items": _object()} if is_list else _object()
        place["required"].append(name)
    if len(path) > 1:
        inner = place["properties"][name]
        _add(inner["items"] if is_list else inner, path[1:], kind, meaning)
        return
    leaf = _leaf(name, kind)
    said = {"description": re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", meaning)} if meaning else {}
    place["properties"][name] = {"type": "array", "items": leaf, **said} if is_list else {**leaf, **said}


def _leaf(name: str, kind: str) -> dict[str, Any]:
    word, _, null = kind.partition(", ")
    leaf = {"enum": [each.value for each in _CODES[name]]} if word == "code" else dict(_TYPES[word])
    if not null:
        return leaf
    assert null == "null", kind
    return {"anyOf": [leaf, {"type": "null"}]}


def text() -> str:
    """The file as it should be."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def write(path: Path = FILE) -> None:
    """Write it."""
    path.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    write()
