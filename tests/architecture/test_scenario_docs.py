"""The page about scenarios says what the code declares and sends."""

import re

import pytest

from prober.domain.campaign import Campaign
from prober.plan.rehearsal import estimate
from prober.plan.scenarios import SCENARIOS
from tests.support.markdown import codes, document, rows, section
from tests.support.scripted import target_of, tenants_of

PAGE = document("docs/scenarios.md")
TABLE = {codes(cells[0])[0]: cells[1:] for cells in rows(section(PAGE, "## At a glance"))}


def test_every_scenario_is_explained():
    """Each has its row and its section, in the order of the registry, and says what it cannot show."""
    sections = [name for name in re.findall(r"^## (\w+)$", PAGE, re.MULTILINE) if name in SCENARIOS]

    assert sections == list(SCENARIOS)
    assert list(TABLE) == list(SCENARIOS)
    assert [name for name in sections if "Cannot show" not in section(PAGE, f"## {name}")] == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_kinds_and_costs_of_a_scenario_are_the_codes_own(name: str):
    """The table states the declared kinds, and what a rehearsal at the incident's sizes costs beside calibration."""
    whole, empty = (
        estimate(Campaign(target=target_of(), tenants=tenants_of(2), scenarios=scenarios))
        for scenarios in ((name,), ())
    )
    kinds = ", ".join(kind.value for kind in SCENARIOS[name].kinds)
    cost = f"{(whole.tokens - empty.tokens) / 1e6:.2f}"

    assert TABLE[name] == [kinds, str(whole.requests - empty.requests), cost]
