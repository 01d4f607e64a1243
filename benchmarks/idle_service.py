"""What `prober serve` holds while nothing is due: SQLite, one target, the API on."""

import asyncio
import contextlib
import json
import os
import pathlib
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator

import httpx

from benchmarks.figure import Figure, Sizes
from benchmarks.resident import MIB, descendants, resident_bytes
from prober.config.keyring_file import create_keyring
from prober.store.migrate import upgrade

BOUND_MIB = 150.0
LOOK_SECONDS = 1.0
READY_SECONDS = 60.0
PAGES = ("/healthz", "/readyz", "/metrics")
"""What a monitor asks for, again and again."""

CREDENTIALS = {"ALPHA_KEY": "benchmark-alpha", "BRAVO_KEY": "benchmark-bravo"}
SETTINGS = {
    "version": 1,
    "key_file": "canary.key",
    "api": {"port": 0},
    "targets": {
        "idle": {
            "url": "http://127.0.0.1:9/v1",
            "dialect": "openai-chat",
            "model": "llm",
            "context_tokens": 1_048_576,
            "shared": False,
            "tenants": [
                {"name": "alpha", "credential": "${ALPHA_KEY}"},
                {"name": "bravo", "credential": "${BRAVO_KEY}"},
            ],
            "scenarios": ["baseline"],
        }
    },
}


def idle_service(sizes: Sizes) -> Iterator[Figure]:
    """The most that the service's own process holds while it is watched, its children apart."""
    own, children = asyncio.run(_watch(sizes.settle_seconds))
    beside = "no child process"
    if children:
        beside = f"{len(children)} child processes hold {sum(children) / MIB:.0f} MiB beside it"
    yield Figure(name="resident, idle service", value=own / MIB, unit="MiB", at_most=BOUND_MIB, beside=beside)


async def _watch(seconds: float) -> tuple[float, list[float]]:
    """Bytes: highest of the process while it is watched, and of each of its children at the end."""
    with tempfile.TemporaryDirectory(prefix="prober-idle-") as folder:
        async with _service(pathlib.Path(folder)) as (pid, url), httpx.AsyncClient(trust_env=False) as monitor:
            held = [resident_bytes(pid)]
            for _ in range(max(1, round(seconds / LOOK_SECONDS))):
                for page in PAGES:
                    (await monitor.get(url + page)).raise_for_status()
                await asyncio.sleep(LOOK_SECONDS)
                held.append(resident_bytes(pid))
            return max(held), [resident_bytes(child) for child in descendants(pid)]


@contextlib.asynccontextmanager
async def _service(folder: pathlib.Path) -> AsyncIterator[tuple[int, str]]:
    """Run a replica; give its process id and the address of its API. Its end must be clean."""
    create_keyring(folder / "canary.key")
    config = folder / "prober.yaml"
    database = f"sqlite:///{folder / 'prober.db'}"
    config.write_text(json.dumps({**SETTINGS, "database": database}), encoding="utf-8")
    config.chmod(0o600)
    environment = {**os.environ, **CREDENTIALS, "PROBER_CONFIG": str(config)}
    await upgrade(database)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "prober", "serve", cwd=folder, env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(READY_SECONDS):
            address = await _address(process)
        yield process.pid, address
    finally:
        process.terminate()
        _, said = await process.communicate()
    assert process.returncode == 0, said.decode()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async for line in process.stderr:
        event = json.loads(line)
        if event["event"] == "serving":
            return str(event["address"])
    raise AssertionError("the service ended before it served")
