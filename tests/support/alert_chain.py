"""A lab, `prober serve`, Prometheus with our rules, Alertmanager with our routing, and who is paged."""

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from prober.lab.scenes import stage_scene
from prober.service.lab_host import HostedLab, LabOrder, lab_host
from tests.support.command import Workplace
from tests.support.monitoring import ROOT, RULES, Server, alertmanager, prometheus, query
from tests.support.receiving import Receiving, receiving
from tests.support.replicas import LAB_KEYS, ReplicaProcess, replica, serving

SHRINK = 16
TARGET = "hostile"
"""As a `Workplace` names it."""
RUNBOOKS = "https://docs.example/prober/docs/runbooks"
SETTINGS = {"baseline_probes": 1, "anchor_probes": 3, "sweep_max_probes": 6}
DAILY = {"daily": {"every_seconds": 86_400}}


@contextlib.asynccontextmanager
async def a_lab(scene: str) -> AsyncIterator[HostedLab]:
    """The scene, small and quick, in a process of its own."""
    order = LabOrder(scene=scene, keys=LAB_KEYS, shrink=SHRINK, time_scale=1 / 40)
    async with lab_host() as host, host.lab(order) as lab:
        yield lab


def configured(
    place: Workplace, scene: str, url: str, *, top: Mapping[str, object] | None = None, **target: object
) -> None:
    """Write the configuration of a service that probes the scene."""
    staged = stage_scene(scene, shrink=SHRINK)
    sizes = {
        "model": staged.model,
        "context_tokens": staged.context_tokens,
        "prefill_pool_tokens": staged.prefill_pool_tokens,
        "decode_pool_tokens": staged.decode_pool_tokens,
        "page_tokens": staged.page_tokens,
        "scenarios": ["baseline", "limit_sweep"],
        "settings": SETTINGS,
    }
    serving(place, f"{url}/v1", top={"schedules": DAILY, **(top or {})}, **{**sizes, **target})


async def address_of(one: ReplicaProcess) -> str:
    """Where a replica listens."""
    return str((await one.until("serving"))["address"])


async def run_now(place: Workplace, address: str, **request: object) -> Mapping[str, Any]:
    """Ask the API for a run and wait for its verdict."""
    name = f"t{asyncio.get_running_loop().time() * 1_000:.0f}"
    made = await place.invoke_beside("token", "create", "--name", name, "--scope", "run", "--scope", "read")
    assert made.code == 0, made.said
    token = {"Authorization": f"Bearer {made.stdout.strip()}"}
    async with httpx.AsyncClient(base_url=address, headers=token, timeout=10) as client, asyncio.timeout(100):
        asked = await client.post("/api/v1/runs", json={"target": TARGET, **request})
        assert asked.status_code == httpx.codes.ACCEPTED, asked.text
        while True:
            run = (await client.get(asked.headers["Location"])).json()
            if run["verdict"] is not None:
                return dict(run)
            await asyncio.sleep(0.2)


@dataclasses.dataclass(frozen=True)
class Chain:
    """What watches the prober. Its address may change, as a pod's does."""

    prometheus: Server
    receiver: Receiving
    _targets: Path

    def watch(self, *addresses: str) -> None:
        """Scrape these replicas from now on, and no others."""
        hosts = [address.removeprefix("http://") for address in addresses]
        whole = self._targets.with_suffix(".new")
        whole.write_text(json.dumps([{"targets": hosts}]), encoding="utf-8")
        whole.rename(self._targets)

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """Receiver, alert and status of everything that was sent, in order."""
        return [
            (body["receiver"], alert["labels"]["alertname"], alert["status"])
            for body in self.receiver.taken
            for alert in body["alerts"]
        ]

    async def until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Wait for what was sent; a failure shows it, and what Prometheus thinks."""
        try:
            async with asyncio.timeout(seconds):
                while not holds():  # noqa: ASYNC110 - of other processes
                    await asyncio.sleep(0.05)
        except TimeoutError:
            alerts = [each["metric"] for each in await query(self.prometheus, "ALERTS")]
            raise AssertionError(f"told: {self.told}; alerts: {alerts}") from None

    async def until_found(self, expression: str, seconds: float = 30) -> Sequence[Mapping[str, Any]]:
        """Wait until an expression finds something."""
        try:
            async with asyncio.timeout(seconds):
                while not (found := await query(self.prometheus, expression)):  # noqa: ASYNC110 - likewise
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"nothing within {seconds} s: {expression}") from None
        return found

    async def rule_faults(self) -> list[str]:
        """Rules that Prometheus could not evaluate, or has not evaluated yet."""
        async with httpx.AsyncClient() as client:
            groups = (await client.get(f"{self.prometheus.url}/api/v1/rules")).json()["data"]["groups"]
        return [
            f"{rule['name']}: {rule['health']} {rule.get('lastError', '')}"
            for group in groups
            for rule in group["rules"]
            if rule["health"] != "ok"
        ]


def _routing(url: str) -> str:
    """The shipped example: with a receiver of ours, and no patience."""
    text = (ROOT / "deploy/prometheus/alertmanager.yaml").read_text(encoding="utf-8")
    for theirs, ours in (
        ("http://pager.example/hook", url),
        ("http://tickets.example/hook", url),
        ("group_wait: 30s", "group_wait: 1s"),
        ("group_interval: 5m", "group_interval: 1s"),
    ):
        assert theirs in text
        text = text.replace(theirs, ours)
    return text


@contextlib.asynccontextmanager
async def chain(folder: Path) -> AsyncIterator[Chain]:
    """Everything but lab and prober, looking and judging every second instead of every minute."""
    targets = folder / "targets.json"
    targets.write_text("[]", encoding="utf-8")
    async with receiving() as receiver, alertmanager(folder, _routing(receiver.url)) as router:
        configuration = {
            "global": {
                "scrape_interval": "1s",
                "evaluation_interval": "1s",
                "external_labels": {"prober_runbooks": RUNBOOKS},
            },
            "rule_files": [str(RULES)],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [router.url.removeprefix("http://")]}]}]},
            "scrape_configs": [
                {"job_name": "prober", "file_sd_configs": [{"files": [str(targets)], "refresh_interval": "1s"}]}
            ],
        }
        async with prometheus(folder, configuration) as server:
            yield Chain(server, receiver, targets)


__all__ = ["Chain", "a_lab", "address_of", "chain", "configured", "replica", "run_now"]
