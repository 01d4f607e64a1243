"""What Grafana calls a dashboard, as plain data: panels in rows, variables, one data source that the reader chooses."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

COLUMNS = 24
"""Of Grafana's grid."""
SCHEMA = 39
"""Of dashboards as Grafana 10 and 11 write them; newer ones read it."""
SOURCE = {"type": "prometheus", "uid": "${datasource}"}

BAD = ((None, "green"), (1, "red"))
"""Steps of what must be 0."""

OUTCOME_COLOURS = {"clean": "green", "inconclusive": "blue", "suspect": "orange", "violation": "red"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Panel:
    """One picture."""

    title: str
    means: str
    """Shown to whoever hovers over the title."""
    queries: Mapping[str, str]
    """Legend -> expression."""
    kind: str = "timeseries"
    unit: str = "short"
    width: int = 8
    height: int = 7
    steps: Sequence[tuple[float | None, str]] = ((None, "green"),)
    """From which value on which colour; the first has none."""
    stacked: bool = False
    decimals: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dashboard:
    """Rows of panels."""

    uid: str
    title: str
    means: str
    rows: Mapping[str, Sequence[Panel]]
    by_target: bool = True
    """Whether the reader may choose targets."""


def rendered(dashboard: Dashboard) -> dict[str, Any]:
    """Build what Grafana reads."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.means,
        "tags": ["isolation-prober"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "1m",
        "time": {"from": "now-24h", "to": "now"},
        "timezone": "utc",
        "links": [
            {"title": "Isolation prober", "type": "dashboards", "tags": ["isolation-prober"], "asDropdown": False}
        ],
        "templating": {"list": list(_variables(dashboard))},
        "panels": list(_placed(dashboard)),
    }


def _variables(dashboard: Dashboard) -> Iterator[dict[str, Any]]:
    yield {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {}}
    yield _choice("job", "label_values(prober_build_info, job)")
    if dashboard.by_target:
        yield _choice("target", 'label_values(prober_run_in_progress{job=~"$job"}, target)')


def _choice(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _placed(dashboard: Dashboard) -> Iterator[dict[str, Any]]:
    """Lay panels out from left to right, row by row."""
    number, top = 0, 0
    for title, panels in dashboard.rows.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "collapsed": False,
            "panels": [],
            "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": 1},
        }
        top, left, tallest = top + 1, 0, 0
        for panel in panels:
            if left + panel.width > COLUMNS:
                top, left, tallest = top + tallest, 0, 0
            number += 1
            yield _panel(panel, number, {"x": left, "y": top, "w": panel.width, "h": panel.height})
            left, tallest = left + panel.width, max(tallest, panel.height)
        top += tallest


def _panel(panel: Panel, number: int, place: Mapping[str, int]) -> dict[str, Any]:
    custom: dict[str, Any] = {}
    options: dict[str, Any] = {}
    match panel.kind:
        case "timeseries":
            custom = {
                "drawStyle": "line",
                "lineWidth": 1,
                "fillOpacity": 30 if panel.stacked else 5,
                "showPoints": "never",
            }
            custom["stacking"] = {"mode": "normal" if panel.stacked else "none", "group": "A"}
            options = {
                "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }
        case "stat":
            options = {
                "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                "colorMode": "background",
                "graphMode": "none",
                "textMode": "auto",
                "orientation": "auto",
            }
        case "table":
            options = {"showHeader": True}
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "custom": custom,
        "thresholds": {
            "mode": "absolute",
            "steps": [{"value": value, "color": colour} for value, colour in panel.steps],
        },
        "color": {"mode": "thresholds" if panel.kind == "stat" else "palette-classic"},
    }
    if panel.decimals is not None:
        defaults["decimals"] = panel.decimals
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.means,
        "datasource": SOURCE,
        "gridPos": dict(place),
        "fieldConfig": {"defaults": defaults, "overrides": list(_colours(panel))},
        "options": options,
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": SOURCE,
                "expr": expression,
                "legendFormat": legend,
                "instant": panel.kind != "timeseries",
                "range": panel.kind == "timeseries",
                "format": "table" if panel.kind == "table" else "time_series",
            }
            for index, (legend, expression) in enumerate(panel.queries.items())
        ],
    }


def _colours(panel: Panel) -> Iterator[dict[str, Any]]:
    """Outcomes look the same everywhere."""
    if panel.kind == "timeseries" and "{{outcome}}" in "".join(panel.queries):
        for outcome, colour in OUTCOME_COLOURS.items():
            yield {
                "matcher": {"id": "byRegexp", "options": f".*{outcome}.*"},
                "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": colour}}],
            }
