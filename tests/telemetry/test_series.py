"""Every series of the prober, before anything happened."""

import pathlib
import re

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from prober.domain.answer import Answer
from prober.domain.campaign import Trigger
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.telemetry.metrics import Metrics

GOLDEN = pathlib.Path(__file__).parent / "exposition.txt"
"""What a fresh prober with one target shows. Names are an interface: alerts and dashboards are written against them."""


@pytest.fixture
def exposition():
    registry = CollectorRegistry()
    Metrics(registry, targets=["staging", "production"], components=["ladder", "telemetry"], version="1.2.3")
    return generate_latest(registry).decode()


@pytest.fixture
def families(exposition: str):
    return list(text_string_to_metric_families(exposition))


def test_everything_starts_at_nothing(families: list):
    """Every series exists before its first event: 0, but for the build info and for the bound that is not known."""
    for family in families:
        expected = 1 if family.name in {"prober_build_info", "prober_leak_rate_upper95"} else 0
        assert family.samples, family.name
        assert {sample.value for sample in family.samples} == {expected}, family.name


@pytest.mark.parametrize(
    ("family", "label", "values"),
    [
        ("prober_probes", "answer", Answer),
        ("prober_probes", "outcome", Outcome),
        ("prober_findings", "reason", Reason),
        ("prober_inconclusive_findings", "reason", Reason),
        ("prober_runs", "trigger", Trigger),
        ("prober_leak_rate_upper95", "trigger", Trigger),
        ("prober_last_run_outcome", "outcome", Outcome),
    ],
)
def test_every_member_has_its_series(families: list, family: str, label: str, values: type):
    """Each member of an enum that is a label exists from the start, for every target."""
    (found,) = [each for each in families if each.name == family]

    for target in ("staging", "production"):
        present = {sample.labels[label] for sample in found.samples if sample.labels["target"] == target}
        assert present == {member.value for member in values}


def test_labels_are_bounded(families: list):
    """Labels come from the configuration and from enums: nothing grows with traffic."""
    allowed = {
        "target",
        "answer",
        "outcome",
        "reason",
        "expected",
        "got",
        "kind",
        "fault_kind",
        "trigger",
        "component",
        "version",
        "le",
    }

    used = {label for family in families for sample in family.samples for label in sample.labels}
    per_target = sum(sample.labels.get("target") == "staging" for family in families for sample in family.samples)

    assert used <= allowed
    assert per_target < 400


def test_naming_conventions(families: list):
    """One prefix, base units, `_total` on counters only, a help text for every family (prometheus.io, naming)."""
    for family in families:
        assert re.fullmatch(r"prober_[a-z0-9_]+", family.name)
        assert family.documentation.endswith(".")
        assert not re.search(r"_(?:ms|milliseconds|minutes|kb|percent|count)$", family.name)
        is_counter = family.type == "counter"
        assert all(sample.name.endswith("_total") is is_counter for sample in family.samples), family.name


def test_names_meanings_and_labels_are_an_interface(exposition: str):
    """The exposition is, name by name and label by label, the one that alerts and dashboards are written against."""
    shape = "\n".join(
        sorted({line for line in exposition.splitlines() if line.startswith("#")})
        + sorted({re.sub(r'="[^"]*"', "", line.split(" ")[0]) for line in exposition.splitlines() if line[0] != "#"})
    )

    assert shape + "\n" == GOLDEN.read_text("utf-8")
