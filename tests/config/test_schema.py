"""The schema's map of itself."""

import dataclasses

import pytest

from prober.config.schema import (
    PhysicalBoundSettings,
    ProbingSettings,
    Section,
    Settings,
    TargetSettings,
    TenantSettings,
    known_part,
    section_at,
)
from prober.domain.campaign import ScenarioSettings

Location = tuple[str | int, ...]


@pytest.mark.parametrize(
    ("location", "section"),
    [
        ((), Settings),
        (("targets", "glm"), TargetSettings),
        (("targets", "glm", "tenants", 0), TenantSettings),
        (("targets", "glm", "physical_bound"), PhysicalBoundSettings),
        (("targets", "glm", "settings"), ProbingSettings),
        (("targets",), None),
        (("targets", "glm", "headers"), None),
    ],
)
def test_sections_stand_where_the_file_has_them(location: Location, section: type[Section] | None):
    """Each section is found at its place and nowhere else."""
    assert section_at(location) is section


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        (("targets", "glm", "tenants", 1, "credential"), ("targets", "glm", "tenants", 1, "credential")),
        (("targets", "glm", "scenarios", 1), ("targets", "glm", "scenarios", 1)),
        (("targets", "glm", "headers", "sk-live-1"), ("targets", "glm", "headers")),
        (("targets", "glm", "sk-live-1", "url"), ("targets", "glm")),
        (("targets", "sk live", "url"), ("targets",)),
        (("targets", "glm", "version"), ("targets", "glm")),
        (("sk-live-1",), ()),
        ((), ()),
    ],
)
def test_paths_end_where_the_schema_does(location: Location, shown: Location):
    """A key the schema does not know may be a misplaced credential and is not part of a path."""
    assert known_part(location) == shown


def test_domain_and_file_agree_on_what_a_scenario_may_be_told():
    """A figure added on one side alone would be lost silently."""
    assert set(ProbingSettings.model_fields) == {field.name for field in dataclasses.fields(ScenarioSettings)}
