"""The lab on a real socket."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Self

import uvicorn

from prober.domain.errors import LabError
from prober.lab.gateway.backend import ServedCluster, build_cluster
from prober.lab.gateway.gateway import Gateway
from prober.lab.keys import ApiKeys
from prober.lab.loopback import is_loopback
from prober.lab.records import Records
from prober.lab.settings import LabSettings
from prober.lab.surfaces.app import build_app
from prober.lab.surfaces.context import SurfaceContext
from prober.lab.surfaces.settings import SurfaceSettings

LOOPBACK = "127.0.0.1"
DEFAULT_SURFACES = SurfaceSettings()
KEEP_ALIVE_SECONDS = 60
SHUTDOWN_SECONDS = 2
"""After which exchanges that have not ended with the lab are cut off."""


OnReady = Callable[[str], None]
"""Receives the base URL once connections are accepted."""


class LabServer:
    """A lab in the running event loop: `async with LabServer(settings) as lab:` then `lab.base_url`.

    No signal handler is installed and no port is chosen in advance, so several may run side by side. `cluster` stands
    in for the one that the settings describe, also after a rollout.

    Raises:
        LabError: on entering, when the address cannot be bound, or is not loopback and remote access was not allowed.
    """

    def __init__(
        self,
        settings: LabSettings,
        surfaces: SurfaceSettings = DEFAULT_SURFACES,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        allow_remote: bool = False,
        cluster: ServedCluster | None = None,
    ) -> None:
        if not allow_remote and not is_loopback(host):
            raise LabError(f"the lab serves planted leaks: it binds {host} only when remote access is allowed")
        self._address = (host, port)
        self._gateway = Gateway(settings, build_cluster if cluster is None else lambda _settings, _replaced: cluster)
        self.records = Records(surfaces.record_capacity)
        self._context = SurfaceContext(
            gateway=self._gateway,
            lab=settings,
            keys=ApiKeys(settings.keys),
            settings=surfaces,
            records=self.records,
        )
        self._server = _QuietServer(
            uvicorn.Config(
                build_app(self._context),
                lifespan="off",
                log_config=None,
                access_log=False,
                ws="none",
                http="h11",
                loop="none",
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )
        self.base_url = ""
        """`http://127.0.0.1:port`, without a trailing slash; empty until entered."""

    async def __aenter__(self) -> Self:
        """Start the clusters, bind, and return once connections are accepted."""
        listener = _listen(*self._address)
        async with contextlib.AsyncExitStack() as undo:
            undo.callback(listener.close)
            await self._gateway.start()
            undo.push_async_callback(self._gateway.stop)
            self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))
            await self._server.is_up.wait()
            if not self._server.started:
                await self._serving
            self.base_url = _url(listener)
            self._undo = undo.pop_all()
        return self

    async def rollout(self) -> None:
        """Replace all clusters by new ones, as `POST /lab/rollout` does."""
        await self._gateway.restart()

    def counters(self) -> dict[str, int]:
        """What happened in gateway and clusters: honest failings and strikes of faults. Truth, never used to answer."""
        facts = self._gateway.facts()
        counted: dict[str, int] = {}
        for key in ("counters", "gateway"):
            counts = facts.get(key)
            counted |= dict(counts) if isinstance(counts, Mapping) else {}
        return counted

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every exchange, close the sockets, stop the clusters."""
        async with self._undo:
            self._context.closing.set()
            self._server.should_exit = True
            await self._serving


async def serve(
    settings: LabSettings,
    host: str,
    port: int,
    on_ready: OnReady | None = None,
    *,
    surfaces: SurfaceSettings = DEFAULT_SURFACES,
    allow_remote: bool = False,
) -> None:
    """Serve until SIGTERM or SIGINT, then shut down cleanly and return.

    Without `on_ready`, one line of JSON (`{"url": …, "pid": …}`) goes to standard output once connections are accepted.

    Raises:
        LabError: the address cannot be bound, or is not loopback and remote access was not allowed.
    """
    stopped = asyncio.Event()
    with _on_signals(stopped.set):
        async with LabServer(settings, surfaces, host=host, port=port, allow_remote=allow_remote) as lab:
            (on_ready or print_ready)(lab.base_url)
            await stopped.wait()


def print_ready(url: str) -> None:
    """Print the line that tells a parent process where the lab is."""
    sys.stdout.write(json.dumps({"url": url, "pid": os.getpid()}) + "\n")
    sys.stdout.flush()


class _QuietServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say when start-up is over, well or badly."""
        try:
            await super().startup(sockets)
        finally:
            self.is_up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to whoever owns the process: uvicorn would raise them again after its shutdown."""
        yield


def _listen(host: str, port: int) -> socket.socket:
    try:
        [family, _, _, _, address], *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return socket.create_server(address[:2], family=family, backlog=512)
    except OSError as error:
        raise LabError(f"cannot bind {host}:{port}: {error.strerror or type(error).__name__}") from None


def _url(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if listener.family is socket.AF_INET6 else f"http://{host}:{port}"


@contextlib.contextmanager
def _on_signals(callback: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    handled = (signal.SIGTERM, signal.SIGINT)
    for number in handled:
        loop.add_signal_handler(number, callback)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
