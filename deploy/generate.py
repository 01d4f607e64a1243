"""Writes what follows from other files here: `make manifests`. A test compares what stands there with what this gives.

prometheus/rules.yaml and dashboards are copied into the Helm chart, which can read its own folder only; the Kustomize
base is what the chart renders to.
"""

import io
import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import helm_python
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from deploy.grafana.dashboards import DASHBOARDS
from deploy.grafana.panels import rendered as dashboard_of

HERE = pathlib.Path(__file__).parent
CHART = HERE / "helm/isolation-prober"
BASE = HERE / "kustomize/base"
NAME = "isolation-prober"
WRITTEN = "# Written by `make manifests` from the Helm chart; change that.\n"


def generated() -> Iterator[tuple[pathlib.Path, str]]:
    """Every generated file with its text."""
    copies = {CHART / "files/rules.yaml": (HERE / "prometheus/rules.yaml").read_text(encoding="utf-8")}
    for dashboard in DASHBOARDS:
        text = json.dumps(dashboard_of(dashboard), indent=2) + "\n"
        for folder in (HERE / "grafana/dashboards", CHART / "files/dashboards"):
            copies[folder / f"{dashboard.uid}.json"] = text
    yield from copies.items()
    values = YAML(typ="safe").load(HERE / "kustomize/values.yaml")
    for file, resource in rendered(values, copies).items():
        if resource["kind"] == "ConfigMap":
            # Kustomize makes it of prober.yaml, under a name that changes with it.
            yield BASE / "prober.yaml", WRITTEN + resource["data"]["prober.yaml"]
        else:
            _without_checksum(resource)
            yield BASE / file, WRITTEN + _yaml(resource)


def rendered(values: Mapping[str, Any], files: Mapping[pathlib.Path, str] | None = None) -> dict[str, Any]:
    """Render the chart: template -> its one resource. `files` are written first, since the chart reads them.

    Raises:
        helm_python.HelmError: values that the chart refuses.
    """
    for path, text in (files or {}).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    chart = helm_python.Chart.load(str(CHART))
    texts = chart.render(json.loads(json.dumps(values)), name=NAME, namespace="probing")
    return {name.rpartition("/")[2]: YAML(typ="safe").load(text) for name, text in texts.items() if text.strip()}


def _without_checksum(resource: Mapping[str, Any]) -> None:
    annotations = resource.get("spec", {}).get("template", {}).get("metadata", {})
    annotations.pop("annotations", None)


def _yaml(value: object) -> str:
    writer = YAML()
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.width = 4_096
    stream = io.StringIO()
    writer.dump(_literal(value), stream)
    return stream.getvalue()


def _literal(value: object) -> object:
    """Keep texts of several lines readable."""
    if isinstance(value, dict):
        return {key: _literal(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_literal(each) for each in value]
    return LiteralScalarString(value) if isinstance(value, str) and "\n" in value else value


def main() -> None:
    """Write them all."""
    for path, text in generated():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
