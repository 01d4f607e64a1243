"""An application on a real socket, in a thread of its own with an event loop of its own."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

Building = Callable[[], contextlib.AbstractAsyncContextManager[ASGIApp]]


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the main thread's."""
        yield


@contextlib.contextmanager
def serving(building: Building) -> Iterator[str]:
    """Serve what `building` opens; gives the base URL. Opened, used and closed in one loop, as a database must be."""
    listener = socket.create_server(("127.0.0.1", 0))
    servers: list[_Server] = []
    faults: list[BaseException] = []
    is_up = threading.Event()

    async def serve() -> None:
        async with building() as app:
            config = uvicorn.Config(
                app,
                lifespan="off",
                log_config=None,
                access_log=False,
                ws="none",
                http="h11",
                loop="none",
                proxy_headers=False,
                server_header=False,
            )
            servers.append(_Server(config))
            is_up.set()
            await servers[0].serve(sockets=[listener])

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:  # noqa: BLE001 - told to the test, whatever it is
            faults.append(error)
            is_up.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        assert is_up.wait(30)
        assert not faults, faults
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for server in servers:
            server.should_exit = True
        thread.join(30)
        listener.close()
    assert not thread.is_alive()
    assert not faults, faults


@contextlib.asynccontextmanager
async def closing(app: ASGIApp, close: Callable[[], Awaitable[None]]) -> AsyncIterator[ASGIApp]:
    """An application and what to close behind it."""
    try:
        yield app
    finally:
        await close()
