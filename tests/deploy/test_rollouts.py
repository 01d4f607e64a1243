"""The rollout gates, against a real service: what each tool makes of a clean, a leaking and a silent target."""

import asyncio
import contextlib
import dataclasses
import os
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate
import pytest
from ruamel.yaml import YAML

from tests.support.alert_chain import TARGET, address_of
from tests.support.command import Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile
from tests.support.monitoring import ROOT, free_port
from tests.support.replicas import replica, serving
from tests.support.rollout_tools import PATIENCE_SECONDS, Canary, WebMetric, arguments_of, filled

ROLLOUTS = ROOT / "deploy/rollouts"
VENV = Path(sys.executable).parent
CLEAN, LEAKING, SILENT = "clean", "leaking", "silent"


def load(name: str) -> Any:  # noqa: ANN401 - YAML
    return YAML(typ="safe").load(ROLLOUTS / name)


@dataclasses.dataclass(frozen=True)
class Service:
    """A replica, and a token for whoever gates."""

    place: Workplace
    url: str
    token_file: Path

    @property
    def token(self) -> str:
        return self.token_file.read_text(encoding="utf-8").strip()

    @property
    def environment(self) -> dict[str, str]:
        path = f"{VENV}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PROBER_URL": self.url, "PROBER_TOKEN": self.token}

    def runs(self) -> list[tuple[Any, ...]]:
        return self.place.rows("SELECT trigger FROM runs")


@contextlib.asynccontextmanager
async def service(place: Workplace, target: str) -> AsyncIterator[Service]:
    """Serve with a target of one kind: sound, over the limit made of other people's pages, or not there."""
    async with hostile(FakeLlm(leaks=target == LEAKING).handler()) as llm:
        port = free_port() if target == SILENT else llm.port
        serving(place, f"http://127.0.0.1:{port}/v1", scenarios=["baseline", "seed_and_probe"])
        async with replica(place) as one:
            made = await place.invoke_beside("token", "create", "--name", "gate", "--scope", "run", "--scope", "read")
            token = place.folder / "token"
            token.write_text(made.stdout, encoding="utf-8")
            token.chmod(0o600)
            yield Service(place, await address_of(one), token)


async def finished(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> tuple[int, str]:
    """Run what a pipeline runs; gives its exit code and what it said."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said, _ = await asyncio.wait_for(process.communicate(), 100)
    assert process.returncode is not None
    return process.returncode, said.decode()


pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("target", "phase"), [(CLEAN, "Successful"), (LEAKING, "Failed"), (SILENT, "Inconclusive")])
async def test_argos_web_metric_is_the_verdict(place: Workplace, target: str, phase: str):
    """One run for all its measurements; each answered in time; not judged is Inconclusive, which pauses."""
    template = load("argo-web.yaml")
    async with service(place, target) as prober:
        given = {"target": TARGET, "service": "chat", "revision": "7d9f", "url": prober.url, "token": prober.token}
        (metric,) = filled(template["spec"]["metrics"], arguments_of(template, given))
        watch = WebMetric(metric)
        assert await watch.measured(interval=0.25) == phase
        assert watch.slowest < PATIENCE_SECONDS / 2
        assert prober.runs() == [("rollout",)]


@pytest.mark.parametrize(("target", "code"), [(CLEAN, 0), (LEAKING, 1), (SILENT, 3)])
async def test_argos_job_passes_only_what_is_clean(place: Workplace, target: str, code: int):
    """The container's own command, by its exit code."""
    template = load("argo-job.yaml")
    async with service(place, target) as prober:
        given = {"target": TARGET, "service": "chat", "revision": "7d9f", "url": prober.url}
        job = filled(template["spec"]["metrics"], arguments_of(template, given))[0]["provider"]["job"]
        (container,) = job["spec"]["template"]["spec"]["containers"]
        mount = container["volumeMounts"][0]["mountPath"]
        arguments = [each.replace(mount, str(place.folder)) for each in container["args"]]
        ended, said = await finished([str(VENV / "prober"), *arguments], prober.environment, place.folder)

    assert ended == code, said


@contextlib.asynccontextmanager
async def flagger_gate(url: str, token_file: Path) -> AsyncIterator[str]:
    """The shipped gate, as a process of its own."""
    port = free_port()
    environment = {
        "PROBER_URL": url,
        "PROBER_TOKEN_FILE": str(token_file),
        "PORT": str(port),
        "PATH": os.environ["PATH"],
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(ROLLOUTS / "flagger_gate.py"), env=environment, stderr=subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(30), httpx.AsyncClient() as client:
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    await client.get(f"http://127.0.0.1:{port}/")
                    break
                await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize(
    ("target", "end", "runs"), [(CLEAN, "promoted", 1), (LEAKING, "rolled back", 1), (SILENT, "waiting", 3)]
)
async def test_flagger_promotes_what_is_clean_and_rolls_back_what_is_found(
    place: Workplace, target: str, end: str, runs: int
):
    """One run for a checksum; one without a verdict is repeated twice, and then nobody promotes by themselves."""
    webhooks = load("flagger-canary.yaml")["spec"]["analysis"]["webhooks"]
    for webhook in webhooks:
        webhook["metadata"]["target"] = TARGET
    async with service(place, target) as prober, flagger_gate(prober.url, prober.token_file) as gate:
        canary = Canary(webhooks, "9c1f5e", gate)
        assert await canary.ended(45 if target != SILENT else 25) == end
        assert len(prober.runs()) == runs
        again = await canary.call("rollback" if target == LEAKING else "confirm-promotion")
        assert again.status_code == (409 if target == SILENT else 200)
        assert len(prober.runs()) == runs
        assert again.text.count(" ") == 2, "Flagger copies it into events: one word of ours, and an id"


async def test_flaggers_gate_never_passes_what_it_cannot_ask_about(tmp_path: Path):
    """No checksum, no target, garbage, no API: refusals, in time, without a word of what was sent."""
    token = tmp_path / "token"
    token.write_text("iprb_nobody")
    async with (
        flagger_gate(f"http://127.0.0.1:{free_port()}", token) as gate,
        httpx.AsyncClient(timeout=PATIENCE_SECONDS) as client,
    ):
        whole = {"name": "chat", "namespace": "n", "checksum": "secret-word", "metadata": {"target": "secret-word"}}
        for path in ("/promote", "/rollback"):
            for event, status in (
                (whole, 502),
                ({**whole, "checksum": ""}, 400),
                ({**whole, "metadata": {}}, 400),
                ([], 400),
            ):
                answer = await client.post(gate + path, json=event)
                assert answer.status_code == status, answer.text
                assert "secret-word" not in answer.text
            assert (await client.post(gate + path, content=b"\xff{")).status_code == 502
        assert (await client.post(f"{gate}/elsewhere", json=whole)).status_code == 404


PIPELINES = {
    "github-actions.yml": ("vendor.github-workflows", lambda document: document["jobs"]["gate"]["steps"][0]["run"]),
    "gitlab-ci.yml": ("vendor.gitlab-ci", lambda document: document["isolation"]["script"][0]),
}
PROVIDED = {
    "GITHUB_SHA": "4f43dbe",
    "GITHUB_RUN_ID": "17",
    "GITHUB_RUN_ATTEMPT": "1",
    "GITHUB_STEP_SUMMARY": "summary.md",
    "CI_COMMIT_SHA": "4f43dbe",
    "CI_JOB_ID": "17",
}


@pytest.mark.parametrize(
    ("name", "target", "code"),
    [("github-actions.yml", LEAKING, 1), ("gitlab-ci.yml", LEAKING, 1), ("gitlab-ci.yml", CLEAN, 0)],
)
async def test_a_pipelines_command_is_the_gate(place: Workplace, name: str, target: str, code: int):
    """As the example has it, run by a shell: it fails the job or not, and leaves the reports that are uploaded."""
    script = PIPELINES[name][1](load(name))
    assert "--target staging" in script
    async with service(place, target) as prober:
        command = script.replace("--target staging", f"--target {TARGET}")
        environment = {**prober.environment, **PROVIDED}
        ended, said = await finished(["bash", "-ec", command], environment, place.folder)
        assert prober.runs() == [("rollout",)]

    assert ended == code, said
    reports = [
        word.partition("=")[2]
        for word in shlex.split(script)
        if word.partition("=")[0] in {"sarif", "markdown", "junit", "html"}
    ]
    for report in reports:
        file = place.folder / report.replace("$GITHUB_STEP_SUMMARY", PROVIDED["GITHUB_STEP_SUMMARY"])
        assert file.stat().st_size > 0


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_fits_its_schema(name: str):
    """The published schemas of both systems, which check-jsonschema brings along."""
    transform = ["--data-transform", "gitlab-ci"] if "gitlab" in name else []
    done = subprocess.run(
        [str(VENV / "check-jsonschema"), "--builtin-schema", PIPELINES[name][0], *transform, str(ROLLOUTS / name)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pods_of_gates_are_valid_and_shut_in():
    """Argo's Job, and what answers Flagger: valid Kubernetes, not root, nothing writable, tokens as files."""
    job = load("argo-job.yaml")["spec"]["metrics"][0]["provider"]["job"]["spec"]
    resources = list(YAML(typ="safe").load_all(ROLLOUTS / "flagger-gate.yaml"))
    wrapped = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "gate"}, "spec": job}
    for resource in (wrapped, *resources):
        kubernetes_validate.validate(resource, "1.37", strict=True)

    for pod in (job["template"]["spec"], resources[0]["spec"]["template"]["spec"]):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert [each for each in container.get("env", ()) if "valueFrom" in each] == []


def test_templates_are_named_where_they_are_used():
    """The rollout names a template that is shipped, and gives every argument that has no default."""
    template = load("argo-web.yaml")
    (analysis,) = [
        step["analysis"]
        for step in load("argo-rollout.yaml")["spec"]["strategy"]["canary"]["steps"]
        if "analysis" in step
    ]
    needed = {each["name"] for each in template["spec"]["args"] if not {"value", "valueFrom"} & set(each)}

    assert analysis["templates"] == [{"templateName": template["metadata"]["name"]}]
    assert {each["name"] for each in analysis["args"]} == needed
