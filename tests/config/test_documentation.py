"""The documentation and the example say what the schema says."""

import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from prober.config.loader import load_settings
from prober.config.schema import Section, Settings
from prober.config.secret import Secret
from tests.support import configuration_reference

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "configuration.md").read_text()
EXAMPLE = ROOT / "prober" / "config" / "example.yaml"
ROWS = dict(re.findall(r"^\| `([^`]+)` \| (required|none|`[^`]+`) \| .+ \|$", DOCUMENT, re.MULTILINE))


def section_of(annotation: Any) -> tuple[type[BaseModel], str] | None:  # noqa: ANN401 - typing objects
    """Section behind a field's type, and how its keys are reached from the field's."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, "."
    for argument in typing.get_args(annotation):
        found = section_of(argument)
        if found:
            joint = {dict: ".<name>.", tuple: "[]."}.get(typing.get_origin(annotation), found[1])
            return found[0], joint
    return None


def keys(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """All dotted keys of the schema with their fields."""
    for name, field in section.model_fields.items():
        yield prefix + name, field
        if found := section_of(field.annotation):
            yield from keys(found[0], prefix + name + found[1])


SCHEMA = dict(keys(Settings))


def default_of(field: FieldInfo) -> str:
    """How the documentation writes a field's default."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Secret):
        value = value.reveal()
    if value in (None, "", {}) or isinstance(value, BaseModel):
        return "none"
    shown = getattr(value, "value", value)
    return f"`{str(shown).lower() if isinstance(shown, bool) else shown}`"


def test_every_key_is_documented_and_every_documented_key_exists():
    """A key nobody can read about, or a documented one that is refused, is a fault."""
    assert set(ROWS) == set(SCHEMA)


def test_schema_is_walked_to_its_leaves():
    """The comparison is worth something only if it sees nested keys."""
    assert "targets.<name>.tenants[].credential_file" in SCHEMA
    assert "targets.<name>.physical_bound.time_scale" in SCHEMA
    assert "targets.<name>.settings.sweep_bisect" in SCHEMA


@pytest.mark.parametrize("key", sorted(SCHEMA))
def test_documented_default_is_the_schemas(key: str):
    """The default column cannot go stale."""
    assert ROWS[key] == default_of(SCHEMA[key])


def test_every_field_explains_itself():
    """Each key has a sentence in the schema too."""
    assert [key for key, field in SCHEMA.items() if not field.description] == []


def test_every_section_refuses_unknown_keys():
    """No section may have loosened the rule."""
    sections = {found[0] for field in SCHEMA.values() if (found := section_of(field.annotation))} | {Settings}
    assert all(section.model_config.get("extra") == "forbid" for section in sections)
    assert all(issubclass(section, Section) for section in sections)


def test_shipped_example_loads_without_a_warning():
    """The example is a configuration, not a picture of one."""
    environment = {
        "PROBER_ALPHA_ACCOUNT": "account",
        "PROBER_BRAVO_ACCOUNT": "another",
        "PROBER_ALPHA_TOKEN": "one",
        "PROBER_BRAVO_TOKEN": "two",
    }
    loaded = load_settings(
        EXAMPLE,
        environment,
        known_dialects=["workers-ai"],
        known_scenarios=["baseline", "seed_and_probe", "limit_sweep"],
    )
    assert loaded.warnings == ()
    assert loaded.settings.targets["glm-staging"].url.endswith("/accounts/account")


def test_shortest_example_of_the_document_loads(tmp_path: Path):
    """The first thing a reader copies must work."""
    [text] = re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.DOTALL)
    path = tmp_path / "prober.yaml"
    path.write_text(text)
    environment = {"ALPHA_KEY": "one", "BRAVO_KEY": "two"}
    loaded = load_settings(path, environment, known_dialects=["openai-chat"], known_scenarios=["baseline"])
    assert list(loaded.settings.targets) == ["glm"]


def test_the_reference_is_what_the_code_says():
    """Written anew after each change of the schema: `python -m tests.support.configuration_reference`."""
    assert configuration_reference.FILE.read_text() == configuration_reference.text()


def test_the_reference_has_every_key():
    """Its walk goes as deep as the one above."""
    assert {key for key, *_ in configuration_reference.rows()} == set(SCHEMA)
    assert [key for key, _, _, said in configuration_reference.rows() if not said] == []
