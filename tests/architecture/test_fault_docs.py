"""Kinds of fault, faults of the lab and options of the self-test are told as the code has them."""

import re

import pytest
import typer.main

from prober.cli.app import app
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.lab.faults import FAULTS
from prober.plan.scenarios import SCENARIOS
from prober.service.fault_runs import scenario_of
from tests.support.markdown import codes, document, rows, section

KINDS = document("docs/fault-kinds.md")
SELF_TEST = document("docs/self-test.md")
PARTS = ("Sources", "Bred by", "Provoked by", "Recognised by", "Not to be taken for")


def parts_of(kind: FaultKind) -> dict[str, str]:
    """The listed parts of a kind's section, each on one line."""
    text = section(KINDS, f"## {kind.value}: {kind.title}")
    found = re.findall(r"^- \*\*([^*]+)\*\*: (.+?)(?=\n- \*\*|\Z)", text.strip(), re.MULTILINE | re.DOTALL)
    return {name: " ".join(what.split()) for name, what in found}


def test_every_kind_has_its_section_in_their_order():
    """Each kind is explained under its code and title, and no section is of a kind that does not exist."""
    headings = re.findall(r"^## (K\d+: .+)$", KINDS, re.MULTILINE)

    assert headings == [f"{kind.value}: {kind.title}" for kind in FaultKind]


@pytest.mark.parametrize("kind", FaultKind, ids=lambda kind: kind.value)
def test_a_kind_tells_mechanism_sources_faults_scenarios_reasons_and_likenesses(kind: FaultKind):
    """Faults and scenarios are those of the registries, reasons exist, and sources are public numbers or dates."""
    text = section(KINDS, f"## {kind.value}: {kind.title}")
    parts = parts_of(kind)

    assert tuple(parts) == PARTS
    assert len(text.partition("\n- **")[0].split()) >= 25
    assert re.search(r"#\d+|CVE-\d{4}-\d+|20\d\d", parts["Sources"])
    assert codes(parts["Bred by"]) == [name for name, fault in FAULTS.items() if kind.value == fault.KIND]
    assert codes(parts["Provoked by"]) == [name for name, scenario in SCENARIOS.items() if kind in scenario.kinds]
    reasons = codes(parts["Recognised by"])
    assert reasons
    assert set(reasons) <= {reason.value for reason in Reason}
    assert len(parts["Not to be taken for"].split()) >= 5


def test_every_fault_of_the_self_test_is_documented():
    """Each fault stands with its kind, the scenario that provokes it and its scene, in the order of the registry."""
    documented = [
        (codes(cells[0])[0], cells[1], codes(cells[2])[0], codes(cells[3])[0])
        for cells in rows(section(SELF_TEST, "## Faults"))
    ]

    assert documented == [(name, fault.KIND, scenario_of(name), fault.SCENE) for name, fault in FAULTS.items()]


def test_every_option_of_the_self_test_is_documented():
    """Each option has its row, in the order of the command line, and each row is an option."""
    command = typer.main.get_command(app).commands["selftest"]
    options = [option for parameter in command.params for option in parameter.opts if option != "--help"]

    assert [codes(cells[0])[0] for cells in rows(section(SELF_TEST, "## Options"))] == options


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_has_its_row_in_the_lab(name: str):
    """A table tells a fault's kind, its way from trigger over wrong state to what comes out, and each of its fixes."""
    (row,) = [cells for cells in rows(document("docs/lab.md")) if codes(cells[0])[:1] == [name] and len(cells) == 5]

    assert row[1] == FAULTS[name].KIND
    assert row[2].count(" -> ") == 2
    assert row[3]
    assert set(codes(row[4])) >= FAULTS[name].FIXES
