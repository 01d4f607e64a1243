"""What the code names stands in the documents, and what the documents name exists."""

import dataclasses
import enum
import json
import pathlib
import re
from collections.abc import Iterator

import prometheus_client
import pytest
import typer.main

from prober.cli.app import app
from prober.cli.exits import Exit, FailOn
from prober.detect.detectors import DETECTORS
from prober.domain.answer import Answer
from prober.domain.budget import Cap, Unit, Window
from prober.domain.campaign import Trigger
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.domain.observation import FailureKind, RefusalReason, Timeline
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Role
from prober.domain.reading import Tier
from prober.domain.target import OverlongContract
from prober.endpoint.dialects import DIALECTS
from prober.lab.faults import FAULTS, known_fixes
from prober.lab.fixes import RouterMode
from prober.lab.scenes import SCENES
from prober.plan.rehearsal import estimate
from prober.plan.scenarios import SCENARIOS
from prober.report.facts import facts_of
from prober.report.json_report import SCHEMA, render
from prober.service.selftest import CASES
from prober.telemetry.metrics import Metrics
from prober.telemetry.notification_series import NotificationSeries
from prober.telemetry.self_test_series import SelfTestSeries
from prober.telemetry.service_series import ServiceSeries
from prober.telemetry.spending_series import SpendingSeries
from prober.wiring.campaigns import campaign_of, read_settings
from tests.support.markdown import ROOT, anchors, codes, document, links, outcomes_of_reasons, pages, rows, section
from tests.support.reports import a_leak, a_report

README = document("README.md")
HOW = document("docs/how-it-works.md")
REASONS = document("docs/reasons.md")


def first_codes(text: str) -> list[str]:
    """Code in the first cell of each table row."""
    return [codes(cells[0])[0] for cells in rows(text) if codes(cells[0])]


def verbs() -> Iterator[str]:
    """Every verb of the command line, groups with their members."""
    for name, command in typer.main.get_command(app).commands.items():
        members = getattr(command, "commands", None)
        yield from (f"{name} {member}" for member in members) if members else (name,)


# --- one registry, one table ----------------------------------------------------------------------------------------


def test_every_verb_is_in_the_readme():
    """Each verb of the command line has its row, and each row is a verb."""
    assert sorted(first_codes(section(README, "## Commands"))) == sorted(f"prober {verb}" for verb in verbs())


def test_every_exit_code_is_in_the_readme():
    """Each exit code has its row, and each row is an exit code."""
    documented = [int(cells[0]) for cells in rows(section(README, "## What comes out"))]

    assert documented == [code.value for code in Exit]


def test_every_scenario_is_in_the_readme():
    """Each scenario has its row, in the order of the registry."""
    assert first_codes(section(README, "## Scenarios")) == list(SCENARIOS)


def test_every_dialect_is_in_the_readme():
    """A user finds the name of each dialect where the configuration is shown."""
    assert [name for name in DIALECTS if name not in README] == []


def test_every_detector_is_explained():
    """Each detector has its row, in the order of the registry, by the name its findings carry."""
    names = [detector.__name__.removeprefix("detect_") for detector in DETECTORS]

    assert first_codes(section(HOW, "## Detectors")) == names


def test_every_reason_is_explained():
    """Each reason has its section with outcomes and a first step, and each section is a reason."""
    sections = re.findall(r"^### `(\w+)`$", REASONS, re.MULTILINE)

    assert sorted(sections) == sorted(reason.value for reason in Reason)
    assert set(outcomes_of_reasons(REASONS)) == set(sections)
    for name in sections:
        assert re.search(r"^First: \S", section(REASONS, f"### `{name}`"), re.MULTILINE), name


def test_every_series_is_documented():
    """Name, type and labels of each metric series are those of the table."""
    registry = prometheus_client.CollectorRegistry()
    Metrics(registry, targets=["t"], components=["c"], version="1")
    caps = [Cap(window=Window.DAY, unit=Unit.TOKENS, limit=1)]
    SpendingSeries(registry, tenants={"t": ["a"]}, caps=caps)
    NotificationSeries(registry, targets=["t"], receivers=["r"])
    ServiceSeries(registry, targets=["t"])
    SelfTestSeries(registry)
    exported = {}
    for family in registry.collect():
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        name = f"{family.name}_total" if family.type == "counter" else family.name
        exported[name] = (family.type, labels)

    documented = {codes(cells[0])[0]: (cells[1], set(codes(cells[2]))) for cells in rows(document("docs/metrics.md"))}

    assert documented == exported


def test_every_field_of_the_report_is_documented():
    """The table of the JSON report lists the fields of a full report, in their order, and no other."""
    report = document("docs/report.md")
    table = section(report, "## The JSON report")
    full = a_report(findings=(a_leak(kinds=(FaultKind.REJECTED_BUT_ADMITTED,)),))

    assert first_codes(table) == list(dict.fromkeys(fields(json.loads(render(facts_of(full))))))
    assert f"`{SCHEMA}`" in table


def fields(value: object, path: str = "") -> Iterator[str]:
    """Paths of all leaves."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from fields(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner, f"{path}[]")
    else:
        yield path


CODES_OF_REPORTS = (
    Outcome,
    Trigger,
    Tier,
    Role,
    Expectation,
    Answer,
    FailOn,
    OverlongContract,
    FailureKind,
    RefusalReason,
)


@pytest.mark.parametrize("members", CODES_OF_REPORTS, ids=lambda kind: kind.__name__)
def test_every_code_of_the_report_is_documented(members: type[enum.Enum]):
    """A reader of the report finds each value that a code can have."""
    listed = codes(section(document("docs/report.md"), "## Codes"))

    assert [member.value for member in members if member.value not in listed] == []


def test_no_code_of_the_report_is_invented():
    """No value is documented that cannot occur."""
    assert set(codes(section(document("docs/report.md"), "## Codes"))) == {
        member.value for members in CODES_OF_REPORTS for member in members
    }


def test_every_switch_of_the_lab_is_documented():
    """Each fault, fix and router of the lab is explained on its page."""
    names = [*FAULTS, *known_fixes(), *(mode.value for mode in RouterMode)]
    assert [name for name in names if f"`{name}`" not in document("docs/lab.md")] == []


def test_every_scene_is_documented():
    """Each scene has its row, in the order of the registry."""
    assert first_codes(section(document("docs/self-test.md"), "## Scenes")) == list(SCENES)


def test_every_case_of_the_self_test_is_documented():
    """Each case stands with its scene, the verdict it must get and the reasons that must stand there."""
    documented = [
        (cells[0], codes(cells[1])[0], cells[2], codes(cells[3]))
        for cells in rows(section(document("docs/self-test.md"), "## Cases"))
    ]

    assert documented == [
        (case.name, case.lab_run.scene, case.outcome.name, [reason.value for reason in case.reasons]) for case in CASES
    ]


# --- what documents name --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page: str):
    """Every link to a place of our own names a file, and a heading in it, that exist."""
    for link in links(document(page)):
        name, _, anchor = link.partition("#")
        place = (ROOT / page).parent / name if name else ROOT / page
        assert place.exists(), link
        assert not anchor or anchor in anchors(place.read_text(encoding="utf-8")), link


@pytest.mark.parametrize("page", pages())
def test_named_files_exist(page: str):
    """A path of the project that a document names is there."""
    named = [code for code in codes(document(page)) if re.match(r"(?:prober|tests|docs|migrations)/[\w./-]*$", code)]

    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_page_can_be_found_from_the_readme():
    """No document is an orphan: README or book names it, or the folder it stands in, and the README names the book."""
    of_book = {f"docs/{link.partition('#')[0].rstrip('/')}" for link in links(document("docs/README.md"))}
    linked = {link.partition("#")[0].rstrip("/") for link in links(README)} | of_book
    found = [page for page in pages() if page != "README.md"]

    assert [page for page in found if page not in linked and page.rpartition("/")[0] not in linked] == []


COMMANDS = [*pages(), "prober/config/example.yaml"]


@pytest.mark.parametrize("page", COMMANDS)
def test_commands_exist(page: str):
    """Every `prober …` and `make …` that a reader is told to run exists."""
    text = document(page)
    known = {verb for name in verbs() for verb in (name, name.split()[0])} | {"lab", "--version"}
    targets = set(re.findall(r"^([a-z-]+):", document("Makefile"), re.MULTILINE))

    told = re.findall(
        r"(?:`|^\$ )prober ((?:--)?[a-z]+(?: (?:new|rotate|list|show|upgrade|serve)\b)?)", text, re.MULTILINE
    )
    made = re.findall(r"(?:`|^\$ )make ([a-z-]+)", text, re.MULTILINE)

    assert [name for name in told if name not in known] == []
    assert [name for name in made if name not in targets] == []


def test_the_readmes_configuration_is_one(tmp_path: pathlib.Path):
    """What a user copies first is accepted as it stands, credentials given."""
    (tmp_path / "bravo.key").write_text("two")
    (tmp_path / "bravo.key").chmod(0o600)
    (example,) = re.findall(r"<<'END'\n(.*?)\nEND\n", README, re.DOTALL)
    config = tmp_path / "prober.yaml"
    config.write_text(example)

    loaded = read_settings(config, {"ALPHA_API_KEY": "one"})

    assert loaded.warnings == ()
    spending = estimate(campaign_of(loaded.settings, "staging"))
    assert f"about {spending.tokens / 1e6:.0f} million tokens" in " ".join(README.split())


def test_every_environment_variable_is_documented():
    """A variable that the product reads by a fixed name stands in the README."""
    names = {
        name
        for path in (ROOT / "prober").rglob("*.py")
        for name in re.findall(r"\"(PROBER_[A-Z_]+)\"", path.read_text(encoding="utf-8"))
    }

    assert names
    assert [name for name in names if f"`{name}`" not in README] == []


DECISIONS = [page for page in pages() if page.startswith("docs/decisions/")]


def test_decisions_are_numbered_without_a_gap():
    """Records are cited by number, so each has its own."""
    numbers = [int(page.rpartition("/")[2][:4]) for page in DECISIONS]

    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("page", DECISIONS)
def test_a_decision_is_short_and_whole(page: str):
    """A record says context, decision and consequence on one screen."""
    text = document(page)

    assert len(text.splitlines()) <= 40
    assert re.findall(r"^## (\w+)", text, re.MULTILINE) == ["Context", "Decision", "Consequence"]


def test_every_import_contract_is_documented():
    """The record of the layers names each contract."""
    text = document("docs/decisions/0001-layered-core.md")
    contracts = re.findall(r"^id = \"([a-z-]+)\"$", document("pyproject.toml"), re.MULTILINE)

    assert contracts
    assert [name for name in contracts if f"`{name}`" not in text] == []


def test_every_timing_mark_is_explained():
    """Each mark of the timeline stands in the table of marks."""
    assert first_codes(section(HOW, "## Timing")) == [field.name for field in dataclasses.fields(Timeline)]
