"""What docs/extending.md shows is what one can do: its files are written, registered by their line, and run."""

import dataclasses
import importlib.util
import pathlib
import re
import types

import pytest

from prober.detect.detectors import DETECTORS
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.domain.observation import Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Role
from prober.lab import faults
from prober.lab.faults import FAULTS, known_fixes
from prober.lab.scenes import SCENES
from prober.plan import scenarios
from prober.plan.scenarios import SCENARIOS
from prober.runner.examine import examine
from prober.service.fault_runs import run_of
from tests.support.batch import answer, asked
from tests.support.cluster import ask, running
from tests.support.evidence import a_probe, an_evidence, an_observation
from tests.support.markdown import ROOT, document, section
from tests.support.scripted import LEAK, Reply, healthy, play, stage_of, target_of

TEXT = document("docs/extending.md")
PARTS = ("## A fault", "## A scenario", "## A detector")


@dataclasses.dataclass(frozen=True)
class Example:
    """One part of the page."""

    path: str
    """Where its file would stand."""
    code: str
    line: str
    """What is added to the registry."""
    registry: str
    """Name of the registry and its file."""
    file: str

    def load(self, folder: pathlib.Path) -> types.ModuleType:
        """Write the file and import it."""
        place = folder / pathlib.PurePosixPath(self.path).name
        place.write_text(self.code, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(place.stem, place)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def example(heading: str) -> Example:
    """Read a part: one file, then one line."""
    text = section(TEXT, heading)
    (path,) = re.findall(r"^\*\*(prober/[\w/]+\.py)\*\*$", text, re.MULTILINE)
    # A line of a registry is no whole statement, and what formats Python in documents would make it one.
    code, line = re.findall(r"^```(?:python|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ((registry, file),) = re.findall(r"^The line, in `(\w+)` of `(prober/[\w/]+\.py)`", text, re.MULTILINE)
    return Example(path, code, line, registry, file)


@pytest.mark.parametrize("heading", PARTS)
def test_an_example_is_one_new_file_and_one_line_of_a_registry(heading: str):
    """The file's name is free, its folder and the registry exist, and the line is like its neighbours there."""
    shown = example(heading)
    registry = (ROOT / shown.file).read_text(encoding="utf-8")
    name = shown.line.strip().removesuffix(",").split(": ")[-1]

    assert not (ROOT / shown.path).exists()
    assert (ROOT / shown.path).parent == (ROOT / shown.file).parent
    assert re.search(rf"^{shown.registry}\b", registry, re.MULTILINE)
    assert shown.line.count("\n") == 1
    assert re.search(rf"^(?:class|def) {name}\b", shown.code, re.MULTILINE)
    assert shown.code.startswith('"""')


@pytest.fixture
def fault(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of the example fault, registered."""
    shown = example("## A fault")
    added = getattr(shown.load(tmp_path), shown.line.strip().removesuffix(","))
    monkeypatch.setattr(faults, "_FAULTS", (*faults._FAULTS, added))
    # The registry by name is made of that tuple, when the module is read.
    monkeypatch.setattr(faults, "FAULTS", {**FAULTS, added.NAME: added})
    monkeypatch.setattr("prober.service.fault_runs.FAULTS", faults.FAULTS)
    return str(added.NAME)


async def test_the_example_fault_loses_the_end_of_prompts(fault: str):
    """Served prompts lose their end, strikes are counted, and with its fix they are answered as ever."""
    settings = SCENES[faults.FAULTS[fault].SCENE]
    assert "round_up" in known_fixes()
    async with running(settings, faults={fault: 1.0}) as cluster:
        assert (await ask(cluster, asked("aaax"))).text != answer("aaax")
        assert cluster.counters[f"fault_{fault}"] >= 1
    async with running(settings, faults={fault: 1.0}, fixes=frozenset({"round_up"})) as cluster:
        assert (await ask(cluster, asked("aaax"))).text == answer("aaax")
        assert cluster.counters[f"fault_{fault}"] == 0


def test_the_self_test_runs_the_example_fault_by_its_scenario(fault: str):
    """Kind, scene and scenario of its run are those that it names, and exist."""
    run = run_of(fault)

    assert run.kind is FaultKind.PARTIAL_CONTEXT
    assert run.scenario in SCENARIOS
    assert run.scene in SCENES


@pytest.fixture
def scenario(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of the example scenario, registered."""
    shown = example("## A scenario")
    name = shown.line.strip().removesuffix(",").split(": ")[1]
    monkeypatch.setitem(scenarios.SCENARIOS, name, getattr(shown.load(tmp_path), name))
    return name


def test_the_example_scenario_sends_all_tenants_at_once(scenario: str):
    """Each round is one wave with a check of every tenant; kinds are those that it declares."""
    played = play(
        SCENARIOS[scenario](stage_of(target_of(), tenants=3, rounds=4)), target_of(), lambda probe, _: healthy(probe)
    )

    assert SCENARIOS[scenario].kinds == (FaultKind.BLOCK_TABLE_RACE,)
    assert [{probe.tenant.number for probe in wave.probes} for wave in played.waves] == [{0, 1, 2}] * 4
    assert {probe.role for probe in played.probes} == {Role.CHECK}
    assert [probe.label for probe in played.probes][:2] == [f"{scenario}/0001", f"{scenario}/0002"]


def test_the_example_scenario_confirms_a_leak_and_leaves_a_shared_target_alone(scenario: str):
    """The first hit is probed again at once; when that leaks too, nothing more is sent."""

    def leaking(probe: Probe, _tokens: int) -> Reply:
        return LEAK if probe.tenant.number == 2 or probe.role is Role.CONFIRMATION else Reply()

    target = target_of(shared=True)
    played = play(SCENARIOS[scenario](stage_of(target, tenants=3, rounds=4)), target, leaking)

    assert len(played.waves) <= 2
    assert any(judgement.is_confirmed_violation for judgement in played.judgements)


def test_the_example_detector_speaks_on_its_own_axis_only(tmp_path: pathlib.Path):
    """An answer longer than allowed is SUSPECT beside what the others say; one within its budget is passed over."""
    shown = example("## A detector")
    name = shown.line.strip().removesuffix(",")
    registered = (*DETECTORS, getattr(shown.load(tmp_path), name))

    def said(tokens: int | None) -> list[tuple[Outcome, Reason]]:
        observation = an_observation(usage=Usage(prompt_tokens=300_000, completion_tokens=tokens))
        evidence = an_evidence(observation=observation, probe=a_probe(max_output_tokens=64))
        findings = examine(evidence, registered, lambda failed, error: pytest.fail(f"{failed}: {error}"))
        assert {finding.detector for finding in findings} > {"status_contract"}
        return [(finding.outcome, finding.reason) for finding in findings if f"detect_{finding.detector}" == name]

    assert said(65) == [(Outcome.SUSPECT, Reason.USAGE_MISMATCH)]
    assert said(64) == said(None) == []
