"""The dashboards: sound as documents, and every expression in them finds something in a real Prometheus."""

import itertools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from deploy.grafana.dashboards import DASHBOARDS
from deploy.grafana.panels import COLUMNS, rendered
from tests.support.alert_chain import TARGET, a_lab, address_of, chain, configured, replica, run_now
from tests.support.command import Workplace
from tests.support.monitoring import ROOT, query
from tests.support.receiving import receiving

GRAFANA = ROOT / "deploy/grafana"
PICTURES = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((GRAFANA / "dashboards").glob("*.json"))]
KINDS = {"row", "timeseries", "stat", "table"}
UNITS = {"short", "none", "s", "percentunit", "bytes"}
CHOSEN = {"$job": ".*", "$target": ".*", "$__rate_interval": "1m", "$__range": "5m"}


def panels(picture: dict[str, Any]) -> list[dict[str, Any]]:
    return [panel for panel in picture["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str]]:
    """Where each stands, and itself with what a reader chooses put in."""
    for picture in PICTURES:
        for panel in panels(picture):
            for target in panel["targets"]:
                expression = target["expr"]
                for name, value in CHOSEN.items():
                    expression = expression.replace(name, value)
                yield f"{picture['uid']}: {panel['title']}", expression


def test_what_is_provisioned_is_what_the_code_says():
    """`make manifests` would change nothing."""
    assert {picture["uid"]: picture for picture in PICTURES} == {each.uid: rendered(each) for each in DASHBOARDS}


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture["uid"])
def test_a_dashboard_can_be_read(picture: dict[str, Any]):
    """Each panel has its own number, a title, an explanation, a known kind and unit; nothing lies on something else."""
    everything = picture["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    assert {panel["type"] for panel in everything} <= KINDS
    for panel in panels(picture):
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)
    assert len({panel["title"] for panel in panels(picture)}) == len(panels(picture))
    for one, other in itertools.combinations([panel["gridPos"] for panel in everything], 2):
        is_beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        is_above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert is_beside or is_above
        assert one["x"] + one["w"] <= COLUMNS


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture["uid"])
def test_the_reader_chooses_the_data_source(picture: dict[str, Any]):
    """No data source of ours is written in: uid and kind come from the variable, in panels and variables alike."""
    sources = {json.dumps(panel["datasource"]) for panel in panels(picture)}
    sources |= {json.dumps(target["datasource"]) for panel in panels(picture) for target in panel["targets"]}
    variables = {variable["name"]: variable for variable in picture["templating"]["list"]}

    assert sources == {'{"type": "prometheus", "uid": "${datasource}"}'}
    assert variables["datasource"]["type"] == "datasource"
    used = {name for _, expression in expressions() for name in re.findall(r"\$(\w+)", expression)}
    assert used == set(), "a variable that is never set"


def test_provisioning_finds_them():
    """One data source of Prometheus, one folder of dashboards, where compose mounts them."""
    (source,) = YAML(typ="safe").load(GRAFANA / "provisioning/datasources/prometheus.yaml")["datasources"]
    (provider,) = YAML(typ="safe").load(GRAFANA / "provisioning/dashboards/isolation-prober.yaml")["providers"]
    mounts = YAML(typ="safe").load(ROOT / "deploy/compose/compose.yaml")["services"]["grafana"]["volumes"]

    assert source["type"] == "prometheus"
    assert f"../grafana/dashboards:{provider['options']['path']}:ro" in mounts


def test_dashboards_name_series_that_exist(documented_series: dict[str, str]):
    """A panel on a series that was renamed would be empty for ever."""
    endings = r"_bucket$"
    named = {
        re.sub(endings, "", name)
        for _, expression in expressions()
        for name in re.findall(r"\bprober_[a-z0-9_]+", expression)
    }

    assert named - {"prober_build_info"} <= set(documented_series)


@pytest.mark.slow
@pytest.mark.one_at_a_time
async def test_every_expression_finds_something(place: Workplace, tmp_path: Path):
    """Prometheus scrapes a service that has been through everything that the dashboards show."""
    async with chain(tmp_path) as watch, a_lab("incident") as lab, receiving() as hook:
        top = {
            "schedules": {"often": {"every_seconds": 5, "stagger_seconds": 0, "scenarios": ["baseline"]}},
            "budgets": {"day": {"tokens": 100_000_000}},
            "notifications": {"hook": {"kind": "webhook", "url": hook.url, "secret": "signing"}},
        }
        configured(place, "incident", lab.url, top=top)
        async with replica(place) as one:
            address = await address_of(one)
            watch.watch(address)
            await run_now(place, address, trigger="rollout")
            await watch.until_found(f'prober_last_scheduled_run_timestamp_seconds{{target="{TARGET}"}} > 0', 60)
            await watch.until_found('ALERTS{alertname="TenantLeak",alertstate="firing"}', 60)

            empty = [
                f"{where}: {expression}"
                for where, expression in expressions()
                if not any(_is_number(each) for each in await query(watch.prometheus, expression))
            ]

    assert empty == []


def _is_number(sample: dict[str, Any]) -> bool:
    return math.isfinite(float(sample["value"][1]))
