"""A folder with canary key, database and configurations, and `prober` as a process of its own in it."""

import asyncio
import ctypes
import dataclasses
import json
import os
import pathlib
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prober.config.keyring_file import create_keyring, load_keyring
from prober.lab.scenes import stage_scene
from prober.prompt.keyring import Keyring
from prober.service.lab_host import LabOrder

CREDENTIALS = {"ALPHA_KEY": "reliability-key-alpha", "BRAVO_KEY": "reliability-key-bravo"}
LAB_KEYS = {CREDENTIALS["ALPHA_KEY"]: "alpha", CREDENTIALS["BRAVO_KEY"]: "bravo"}
"""API keys of a lab -> the tenants that every target configures."""

SCENE, SHRINK = "small-disaggregated", 4
TIME_SCALE = 1 / 1_000
"""Real seconds per virtual second of the labs."""

SIZES = stage_scene(SCENE, shrink=SHRINK)

COMMAND_SECONDS = 120.0
_PR_SET_PDEATHSIG = 1

Document = dict[str, Any]


class StageError(Exception):
    """The stage of a trial could not be set: nothing was shown, neither way."""


@dataclasses.dataclass(frozen=True)
class Finished:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@dataclasses.dataclass(frozen=True)
class Place:
    """One trial's folder."""

    folder: pathlib.Path
    database: str
    """URL."""

    @classmethod
    def lay_out(cls, folder: pathlib.Path, database: str = "") -> "Place":
        """Draw a canary key; the database is a SQLite file of the folder's own unless one is given."""
        folder.mkdir(parents=True, exist_ok=True)
        create_keyring(folder / "canary.key")
        return cls(folder, database or f"sqlite:///{folder / 'prober.db'}")

    @property
    def keyring(self) -> Keyring:
        return load_keyring(self.folder / "canary.key")

    @property
    def file(self) -> pathlib.Path:
        """The SQLite file."""
        return self.folder / "prober.db"

    def configure(self, name: str, targets: Mapping[str, Document], **top: object) -> pathlib.Path:
        """Write a configuration."""
        document = {
            "version": 1,
            "key_file": str(self.folder / "canary.key"),
            "database": self.database,
            "targets": dict(targets),
            **top,
        }
        path = self.folder / f"{name}.yaml"
        path.touch(mode=0o600)
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    async def spawn(
        self, config: pathlib.Path, *arguments: str, program: Sequence[str] = ("-m", "prober")
    ) -> asyncio.subprocess.Process:
        """Start a command; it does not outlive this process."""
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *program,
            *arguments,
            cwd=self.folder,
            env={**os.environ, **CREDENTIALS, "PROBER_CONFIG": str(config), "PYTHONPATH": _root()},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 20,
            preexec_fn=tied_to_parent(signal.SIGKILL),
        )

    async def command(self, config: pathlib.Path, *arguments: str) -> Finished:
        """Run a command to its end.

        Raises:
            StageError: it does not end.
        """
        return await finish(await self.spawn(config, *arguments))


async def finish(process: asyncio.subprocess.Process, seconds: float = COMMAND_SECONDS) -> Finished:
    """Wait for a command's end.

    Raises:
        StageError: it does not end, and was killed.
    """
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise StageError(f"a command has not ended within {seconds:.0f} s") from None
    return Finished(process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace"))


def require(finished: Finished, what: str) -> Finished:
    """Refuse to go on behind a command that failed.

    Raises:
        StageError: it did.
    """
    if finished.code:
        raise StageError(f"{what} failed with exit code {finished.code}: {finished.stderr.strip()[-1_000:]}")
    return finished


def lab_order(*, faults: Mapping[str, float] | None = None, seed: int = 0) -> LabOrder:
    """Order a small lab whose prefill takes less than its decode, on a quick clock."""
    return LabOrder(scene=SCENE, shrink=SHRINK, keys=LAB_KEYS, time_scale=TIME_SCALE, faults=faults or {}, seed=seed)


def target(url: str, scenario: str, **settings: object) -> Document:
    """Configure a target for a lab of `lab_order`; `settings` are the scenario's that differ."""
    return {
        "url": f"{url}/v1",
        "dialect": "openai-chat",
        "model": "lab-llm",
        "context_tokens": SIZES.context_tokens,
        "prefill_pool_tokens": SIZES.prefill_pool_tokens,
        "decode_pool_tokens": SIZES.decode_pool_tokens,
        "shared": False,
        # A busy machine must not look like a target that hangs.
        "hang_seconds": 60,
        "deadline_seconds": 120,
        "starts_per_period": 1_000,
        "ask": "one_fact",
        "tenants": [
            {"name": "alpha", "credential": "${ALPHA_KEY}"},
            {"name": "bravo", "credential": "${BRAVO_KEY}"},
        ],
        "scenarios": [scenario],
        "settings": {
            "baseline_probes": 1,
            "anchor_probes": 1,
            "baseline_tokens": 600,
            # Two prompts, after which an over-limit one is sure to get pages that somebody else wrote.
            "seed_tokens": 3_000,
            "donor_tokens": 1_500,
            "over_limit_probes": 1,
            **settings,
        },
    }


def tied_to_parent(number: signal.Signals) -> Callable[[], None]:
    """What a child does before its program begins: ask for this signal should we be killed, and obey interrupts."""

    def tie() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)

    return tie


def _root() -> str:
    return str(pathlib.Path(__file__).parents[1])
