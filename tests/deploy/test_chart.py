"""The Helm chart and the Kustomize base: valid Kubernetes, safe defaults, parts that fit together."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import pytest
from ruamel.yaml import YAML

from deploy.generate import BASE, CHART, generated, rendered
from prober.wiring.campaigns import read_settings
from tests.support.command import CREDENTIALS
from tests.support.monitoring import RULES, checked

VALUES = sorted((Path(__file__).parent / "values").glob("*.yaml"))
CUSTOM = {"PrometheusRule", "ServiceMonitor"}
"""Kinds of the Prometheus operator, whose schemas Kubernetes does not have."""


def load(file: Path) -> Any:  # noqa: ANN401 - YAML
    return YAML(typ="safe").load(file)


def kustomized() -> dict[str, Any]:
    names = load(BASE / "kustomization.yaml")["resources"]
    return {name: load(BASE / name) for name in names}


@pytest.fixture(params=[*(file.stem for file in VALUES), "kustomize"])
def resources(request: pytest.FixtureRequest) -> dict[str, Any]:
    """By kind: the chart under each set of values, and the Kustomize base."""
    if request.param == "kustomize":
        found = kustomized()
    else:
        found = rendered(load(Path(__file__).parent / f"values/{request.param}.yaml"))
    return {resource["kind"]: resource for resource in found.values()}


def pods(resources: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield resources["Deployment"]["spec"]["template"]["spec"]
    if "CronJob" in resources:
        yield resources["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def containers(resources: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for pod in pods(resources):
        yield from (*pod.get("initContainers", ()), *pod["containers"])


def test_the_chart_is_sound():
    """Helm's own linter finds nothing but that there is no picture; the archive can be made and read."""
    report = helm_python.lint(str(CHART), load(VALUES[0]), strict=True)

    assert [each["error"] for each in report["messages"] if "icon is recommended" not in each["error"]] == []
    assert report["errors"] == []


def test_every_resource_is_valid_kubernetes(resources: dict[str, Any]):
    """Types and names of every field, unknown ones refused, against the newest schemas."""
    for kind, resource in resources.items():
        if kind not in CUSTOM:
            kubernetes_validate.validate(resource, "1.37", strict=True)


def test_every_container_is_shut_in(resources: dict[str, Any]):
    """Not root, nothing to write to but its volumes, no capability, no token of the cluster, bounded memory."""
    for pod in pods(resources):
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == 10_001
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in containers(resources):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]


def test_secrets_come_as_files(resources: dict[str, Any]):
    """No environment variable comes from a Secret, and the Secret's files are not everybody's."""
    for container in containers(resources):
        assert "envFrom" not in container
        assert [variable for variable in container["env"] if "valueFrom" in variable] == []
    for pod in pods(resources):
        (secret,) = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]
        assert secret["defaultMode"] & 0o007 == 0


def test_parts_find_each_other(resources: dict[str, Any]):
    """Service, budget, policy and monitor select the pods of the Deployment, at the port it listens on."""
    labels = resources["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    selectors = [
        resources["Deployment"]["spec"]["selector"]["matchLabels"],
        resources["Service"]["spec"]["selector"],
        *(
            resources[kind]["spec"][key]["matchLabels"]
            for kind, key in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector"))
            if kind in resources
        ),
    ]
    for selector in selectors:
        assert selector.items() <= labels
    if "ServiceMonitor" in resources:
        monitor = resources["ServiceMonitor"]["spec"]
        assert monitor["selector"]["matchLabels"].items() <= resources["Service"]["metadata"]["labels"].items()
        assert [end["port"] for end in monitor["endpoints"]] == [
            p["name"] for p in resources["Service"]["spec"]["ports"]
        ]
    (port,) = resources["Deployment"]["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert port["containerPort"] == 8_787
    assert ("PodDisruptionBudget" in resources) == (resources["Deployment"]["spec"]["replicas"] > 1)


@pytest.mark.parametrize("file", [*VALUES, "kustomize"], ids=lambda file: getattr(file, "stem", file))
def test_the_configuration_is_one(tmp_path: Path, file: Path | str):
    """What is mounted is what the prober accepts, secrets in place; a drain fits into the pod's last moments."""
    if isinstance(file, str):
        text, deployment = (BASE / "prober.yaml").read_text(encoding="utf-8"), kustomized()["deployment.yaml"]
    else:
        found = rendered(load(file))
        text, deployment = found["configmap.yaml"]["data"]["prober.yaml"], found["deployment.yaml"]
    for name, secret in (("alpha", "a"), ("bravo", "b"), ("database-url", "postgresql://prober:x@db/prober")):
        (tmp_path / name).write_text(secret)
        (tmp_path / name).chmod(0o440)
    config = tmp_path / "prober.yaml"
    config.write_text(text.replace("/run/secrets/prober", str(tmp_path)))

    loaded = read_settings(config, CREDENTIALS)

    assert loaded.warnings == ()
    assert (loaded.settings.api.host, loaded.settings.api.port) == ("0.0.0.0", 8_787)
    patience = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert patience >= loaded.settings.service.drain_seconds + 10


def test_a_production_like_set_has_everything():
    """All that the chart can make is made by one of the sets, and each of the others leaves something out."""
    kinds = {file.stem: {each["kind"] for each in rendered(load(file)).values()} for file in VALUES}
    templates = {path.stem for path in (CHART / "templates").glob("*.yaml")}

    made = {each.lower() for each in set().union(*kinds.values())}
    assert {"dashboards"} | made == templates
    assert len({frozenset(each) for each in kinds.values()}) == len(VALUES) == 3


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"config": {}}, "configuration is required"),
        ({"replicas": 2, "persistence": {"enabled": True}}, "need PostgreSQL"),
    ],
)
def test_values_that_cannot_work_are_refused(changes: Mapping[str, Any], why: str):
    """Before anything is installed, in words."""
    with pytest.raises(helm_python.HelmError, match=why):
        rendered(load(VALUES[0]) | changes)


def test_the_rules_of_the_operator_are_the_rules(tmp_path: Path):
    """A PrometheusRule's spec is a rules file: promtool takes it, and it is the one that is tested."""
    for resource in (
        kustomized()["prometheusrule.yaml"],
        rendered(load(Path(__file__).parent / "values/production.yaml"))["prometheusrule.yaml"],
    ):
        assert resource["spec"] == load(RULES)
        file = tmp_path / "rules.yaml"
        file.write_text(json.dumps(resource["spec"]), encoding="utf-8")
        done = checked("promtool", "check", "rules", file)
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_generated_is_up_to_date():
    """`make manifests` would change nothing, and nothing stands there that it would not write."""
    wanted = dict(generated())

    assert [str(path) for path, text in wanted.items() if path.read_text(encoding="utf-8") != text] == []
    assert {path.name for path in BASE.iterdir()} == {path.name for path in wanted if path.parent == BASE} | {
        "kustomization.yaml"
    }


def test_kustomize_builds_the_base():
    """All files it names are there; where kubectl is at hand, it agrees."""
    named = load(BASE / "kustomization.yaml")
    files = {*named["resources"], *(name for each in named["configMapGenerator"] for name in each["files"])}
    assert files == {path.name for path in BASE.iterdir()} - {"kustomization.yaml"}

    if kubectl := shutil.which("kubectl"):
        done = subprocess.run(
            [kubectl, "kustomize", str(BASE)], check=False, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        built = {each["kind"] for each in YAML(typ="safe").load_all(done.stdout)}
        assert built == {each["kind"] for each in kustomized().values()} | {"ConfigMap"}
