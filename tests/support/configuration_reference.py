"""Writes docs/configuration-reference.md from the code's schema: `python -m tests.support.configuration_reference`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from prober.config.schema import Settings
from tests.support.markdown import ROOT

FILE = ROOT / "docs" / "configuration-reference.md"

_HEAD = """# Configuration reference

Every key with its type, bounds and default, written from the code's own schema (`python -m
tests.support.configuration_reference`); a test holds the two together. What keys are for, in sections and with
examples: [configuration.md](configuration.md).

| key | type | default | what it is |
|---|---|---|---|
"""
_MOST_SHOWN = 10**15
"""A larger bound is that of the number's type."""

_SECRET = {"database": Settings.model_fields["database"].get_default().reveal()}
"""Defaults that the schema shows as stars, since what people write there is secret."""

Schema = Mapping[str, Any]


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Key, type with bounds, default and sentence of every key, in the order of the schema."""
    root = Settings.model_json_schema()
    yield from _of_section(root, root["$defs"], "")


def _of_section(section: Schema, known: Schema, prefix: str) -> Iterator[tuple[str, str, str, str]]:
    required = section.get("required", ())
    for name, field in section["properties"].items():
        default = "required" if name in required else _default(_SECRET.get(prefix + name, field.get("default")))
        yield prefix + name, _kind(field, known), default, _sentence(field, known)
        for inner, joint in _sections(field, known):
            yield from _of_section(inner, known, prefix + name + joint)


def _sections(field: Schema, known: Schema) -> Iterator[tuple[Schema, str]]:
    """Sections behind a field, and how their keys are reached."""
    for kind in field.get("anyOf", (field,)):
        if "$ref" in kind:
            named = known[kind["$ref"].rpartition("/")[2]]
            if "properties" in named:
                yield named, "."
        if isinstance(kind.get("additionalProperties"), dict):
            yield from ((inner, ".<name>.") for inner, _ in _sections(kind["additionalProperties"], known))
        if isinstance(kind.get("items"), dict):
            yield from ((inner, "[].") for inner, _ in _sections(kind["items"], known))


def _kind(field: Schema, known: Schema) -> str:
    kinds = [_one_kind(kind, known) for kind in field.get("anyOf", (field,)) if kind.get("type") != "null"]
    return " or ".join(dict.fromkeys(kinds))


def _one_kind(kind: Schema, known: Schema) -> str:
    if "$ref" in kind:
        named = known[kind["$ref"].rpartition("/")[2]]
        return "section" if "properties" in named else _one_kind(named, known)
    if "enum" in kind or "const" in kind:
        return ", ".join(f"`{value}`" for value in kind.get("enum", [kind.get("const")]))
    if kind.get("type") == "array":
        return f"list of {_one_kind(kind['items'], known)}"
    if isinstance(kind.get("additionalProperties"), dict):
        return f"map of {_one_kind(kind['additionalProperties'], known)}"
    word = {"string": "text", "integer": "whole number", "number": "number", "boolean": "flag", "object": "map"}
    return word.get(kind.get("type", ""), "text") + _bounds(kind)


def _bounds(kind: Schema) -> str:
    words = (
        ("minimum", "at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "below"),
    )
    told = [f"{word} {kind[name]:,}" for name, word in words if name in kind and abs(kind[name]) < _MOST_SHOWN]
    return f", {', '.join(told)}" if told else ""


def _default(value: object) -> str:
    if value in (None, "", [], {}) or isinstance(value, dict | list):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _sentence(field: Schema, known: Schema) -> str:
    said = field.get("description", "")
    if not said and "$ref" in field:
        said = known[field["$ref"].rpartition("/")[2]].get("description", "")
    return re.sub(r"\s+", " ", said).replace("|", "\\|")


def text() -> str:
    """The file as it should be."""
    return _HEAD + "".join(f"| `{key}` | {kind} | {default} | {said} |\n" for key, kind, default, said in rows())


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
