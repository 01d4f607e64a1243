"""Prometheus and Alertmanager themselves: their checkers, and servers of a test's own.

Debian's packages `prometheus` and `prometheus-alertmanager` hold all four programs. In CI they must be there; elsewhere
their absence is a skip that says so.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy/prometheus/rules.yaml"
READY_SECONDS = 60


def program(name: str) -> str:
    """Path of `promtool`, `amtool`, `prometheus`, `prometheus-alertmanager` and the like."""
    found = shutil.which(name)
    if found is None:
        message = f"no {name}: install prometheus and prometheus-alertmanager"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


def checked(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run one of the checkers to its end, whatever it says."""
    return subprocess.run(
        [program(name), *map(str, arguments)], check=False, capture_output=True, text=True, timeout=120
    )


class Server:
    """A server of ours, with its address."""

    def __init__(self, url: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.url = url
        self._process = process
        self._log = log

    async def ready(self, path: str) -> None:
        """Wait until it says that it is ready; its log is what a failure shows."""
        async with asyncio.timeout(READY_SECONDS), httpx.AsyncClient() as client:
            while True:
                assert self._process.returncode is None, self._log.read_text(errors="replace")[-3_000:]
                with contextlib.suppress(httpx.HTTPError):
                    if (await client.get(self.url + path)).status_code == httpx.codes.OK:
                        return
                await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def _running(name: str, port: int, *arguments: object) -> AsyncIterator[Server]:
    with tempfile.TemporaryDirectory(prefix="prober-monitoring-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as stream:
            process = await asyncio.create_subprocess_exec(
                program(name), *map(str, arguments), cwd=folder, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL
            )
        server = Server(f"http://127.0.0.1:{port}", process, log)
        try:
            await server.ready("/-/ready")
            yield server
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
            await process.wait()


def free_port() -> int:
    """A port that nobody listens on now."""
    import socket  # noqa: PLC0415 - for this alone

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.asynccontextmanager
async def alertmanager(folder: Path, configuration: str) -> AsyncIterator[Server]:
    """An Alertmanager by itself: no cluster, no state before it."""
    config, port = folder / "alertmanager.yaml", free_port()
    config.write_text(configuration, encoding="utf-8")
    arguments = (
        f"--config.file={config}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    )
    async with _running("prometheus-alertmanager", port, *arguments) as server:
        yield server


@contextlib.asynccontextmanager
async def prometheus(folder: Path, configuration: Mapping[str, Any]) -> AsyncIterator[Server]:
    """A Prometheus of one configuration, which is YAML's subset JSON."""
    config, port = folder / "prometheus.yaml", free_port()
    config.write_text(json.dumps(configuration), encoding="utf-8")
    arguments = (
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    async with _running("prometheus", port, *arguments) as server:
        yield server


async def query(server: Server, expression: str) -> list[dict[str, Any]]:
    """Evaluate an expression now; one that Prometheus refuses fails the test."""
    async with httpx.AsyncClient() as client:
        answer = (await client.get(f"{server.url}/api/v1/query", params={"query": expression})).json()
    assert answer["status"] == "success", f"{expression}: {answer}"
    data = answer["data"]
    return data["result"] if data["resultType"] == "vector" else [data]
