"""A run against the lab: a whole configuration of its own, then the very path of `prober run`."""

import contextlib
import dataclasses
import json
import pathlib
import secrets
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from prober.config.keyring_file import create_keyring
from prober.config.schema import Settings
from prober.domain.campaign import Campaign, Trigger
from prober.domain.verdict import RunReport
from prober.lab.scenes import stage_scene
from prober.runner.ports import Telemetry
from prober.service.lab_host import HostedLab, LabHost, LabOrder, lab_host
from prober.store.migrate import upgrade
from prober.telemetry.logs import Log
from prober.wiring.campaigns import campaign_of, read_settings
from prober.wiring.prober import Prober, open_prober

TENANTS = ("alpha", "bravo", "charlie")
TARGET = "lab"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabRun:
    """What to run against which scene."""

    scene: str
    """Name in `lab.scenes.SCENES`."""
    scenarios: tuple[str, ...]
    shrink: int = 1
    """Divisor of the scene's sizes."""
    time_scale: float | None = None
    """Real seconds per virtual second; None: as the scene has it."""
    target: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Target keys of the configuration that differ from what the scene's own sizes give."""
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Scenario settings of the configuration."""
    faults: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Faults of the lab beside the scene's own, with their rates."""
    fixes: frozenset[str] = frozenset()
    """Fixes of the lab beside the scene's own."""
    seed: int | None = None
    """Of everything the lab draws; None: the scene's."""
    is_honest: bool = False
    """With every honest failing of LLMs and machines switched on."""

    def order(self, keys: Mapping[str, str]) -> LabOrder:
        """What the lab's process is told; `keys`: API key -> tenant."""
        return LabOrder(
            scene=self.scene,
            keys=keys,
            shrink=self.shrink,
            time_scale=self.time_scale,
            faults=self.faults,
            fixes=self.fixes,
            seed=self.seed,
            is_honest=self.is_honest,
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OpenLab:
    """A scene being served, and a prober that is configured for it."""

    lab: HostedLab
    prober: Prober
    campaign: Campaign


async def perform(lab_run: LabRun, *, log: Log, watchers: Sequence[Telemetry] = ()) -> RunReport:
    """Start the scene, probe it over real sockets with a database and key of its own, stop it.

    Raises:
        LabError: the lab did not start.
        ProberError: as a run raises.
    """
    async with open_lab(lab_run, log=log, watchers=watchers) as lab:
        return await lab.prober.run(lab.campaign, Trigger.MANUAL)


@contextlib.asynccontextmanager
async def open_lab(
    lab_run: LabRun, *, log: Log, watchers: Sequence[Telemetry] = (), host: LabHost | None = None
) -> AsyncIterator[OpenLab]:
    """Start the scene and all that a run against it needs; end everything behind the caller.

    `host` serves the lab; None: a child process of its own.

    Raises:
        LabError: the lab did not start.
    """
    keys = {f"lab-{secrets.token_hex(12)}": tenant for tenant in TENANTS}
    async with (
        _hosted(host) as lab_of,
        lab_of.lab(lab_run.order(keys)) as lab,
        _configured(lab_run, lab.url, keys) as settings,
        open_prober(settings, log=log, watchers=watchers) as prober,
    ):
        yield OpenLab(lab=lab, prober=prober, campaign=campaign_of(settings, TARGET))


@contextlib.asynccontextmanager
async def _hosted(host: LabHost | None) -> AsyncIterator[LabHost]:
    if host is not None:
        yield host
        return
    async with lab_host() as own:
        yield own


@contextlib.asynccontextmanager
async def _configured(lab_run: LabRun, url: str, keys: Mapping[str, str]) -> AsyncIterator[Settings]:
    with tempfile.TemporaryDirectory(prefix="prober-") as name:
        folder = pathlib.Path(name)
        create_keyring(folder / "canary.key")
        config = folder / "prober.yaml"
        config.touch(mode=0o600)
        config.write_text(json.dumps(_document(lab_run, url, keys, folder)), encoding="utf-8")
        environment = {f"LAB_KEY_{tenant.upper()}": key for key, tenant in keys.items()}
        settings = read_settings(config, environment).settings
        await upgrade(settings.database.reveal())
        yield settings


def _document(lab_run: LabRun, url: str, keys: Mapping[str, str], folder: pathlib.Path) -> dict[str, Any]:
    """Write what an operator would: JSON is YAML, credentials come from the environment."""
    scene = stage_scene(lab_run.scene, shrink=lab_run.shrink)
    target = {
        "url": f"{url}/v1",
        "dialect": "openai-chat",
        "model": scene.model,
        "build": scene.version,
        "context_tokens": scene.context_tokens,
        "prefill_pool_tokens": scene.prefill_pool_tokens,
        "decode_pool_tokens": scene.decode_pool_tokens,
        "page_tokens": scene.page_tokens,
        "shared": False,
        "hang_seconds": 20,
        "tenants": [{"name": tenant, "credential": f"${{LAB_KEY_{tenant.upper()}}}"} for tenant in keys.values()],
        "scenarios": list(lab_run.scenarios),
        "settings": dict(lab_run.settings),
    }
    return {
        "version": 1,
        "key_file": "canary.key",
        "database": f"sqlite+aiosqlite:///{folder / 'prober.db'}",
        "targets": {TARGET: target | dict(lab_run.target)},
    }
