"""Serves the API's application by uvicorn, in the service's own loop and under the service's own signals."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from prober.config.serving import ApiSettings
from prober.domain.errors import ConfigError

CLOSE_SECONDS = 3

HEAD_SECONDS = 10.0
"""How long the head of a request may take. Whoever sends none holds one of our file descriptors for nothing."""


class _Server(uvicorn.Server):
    """Leaves signals to the service, which drains first: uvicorn's own would end the process with 143."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class _Connection(H11Protocol):
    """Ends connections that ask nothing: uvicorn waits for the head of a request for ever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Serve a connection."""
        super().connection_made(transport)
        self._patience = self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._patience.cancel()
        super().connection_lost(exc)

    def _wait(self) -> asyncio.TimerHandle:
        return self.loop.call_later(HEAD_SECONDS, self._look, self.cycle)

    def _look(self, before: RequestResponseCycle | None) -> None:
        """Close where no request has come since the last look, and none is at work."""
        is_at_work = before is not None and not before.response_complete
        if self.cycle is before and not is_at_work:
            self.transport.close()
        else:
            self._patience = self._wait()


@contextlib.asynccontextmanager
async def serving(app: FastAPI, settings: ApiSettings) -> AsyncIterator[str]:
    """Serve until the block ends; yields the address, port included.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    listener = _listen(settings)
    config = uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    host, port = listener.getsockname()[:2]
    try:
        yield f"http://{f'[{host}]' if ':' in host else host}:{port}"
    finally:
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await task
        listener.close()


def _listen(settings: ApiSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ConfigError(
            f"api.host {settings.host}, api.port {settings.port}: cannot be listened on ({why})"
        ) from None
