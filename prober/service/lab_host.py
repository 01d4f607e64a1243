"""A child process that serves labs, so that their work never makes our own event loop late."""

import asyncio
import contextlib
import dataclasses
import itertools
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from prober.domain.errors import LabError
from prober.lab.scenes import stage_scene, with_honest_failings
from prober.lab.server import LabServer
from prober.lab.settings import LabSettings

READY_SECONDS = 60.0
STOP_SECONDS = 10.0
_LINE_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabOrder:
    """One lab to serve: a scene of `lab.scenes.SCENES`, and what is different about it."""

    scene: str
    keys: Mapping[str, str] = dataclasses.field(repr=False)
    """API key -> tenant; handed over through a pipe, so that no process list shows them."""
    shrink: int = 1
    """Divisor of the scene's sizes."""
    time_scale: float | None = None
    """Real seconds per virtual second; None: as the scene has it."""
    faults: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Faults beside the scene's own, with their rates."""
    fixes: frozenset[str] = frozenset()
    """Fixes beside the scene's own."""
    seed: int | None = None
    """Of everything the lab draws; None: the scene's."""
    is_honest: bool = False
    """With every honest failing of LLMs and machines switched on."""


class HostedLab:
    """One lab that the child serves."""

    def __init__(self, url: str, tell: Callable[[str], Awaitable[Mapping[str, Any]]]) -> None:
        self.url = url
        """Without the dialect's path."""
        self._tell = tell

    async def rollout(self) -> None:
        """Replace all of its server processes by new ones."""
        await self._tell("rollout")

    async def counters(self) -> dict[str, int]:
        """How often what happened: honest failings, strikes of faults. Truth for the self-test's own report."""
        return dict((await self._tell("count"))["counters"])


class LabHost:
    """The child process, as its parent sees it: `async with lab_host() as host, host.lab(order) as lab`.

    Labs of one host share its event loop: what is timed against each other deserves hosts of its own.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self._turn = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def lab(self, order: LabOrder) -> AsyncIterator[HostedLab]:
        """Serve a lab on a free loopback port; ends it behind the caller.

        Raises:
            LabError: it did not become ready.
        """
        number, name = next(self._numbers), f"the lab (scene {order.scene})"

        async def tell(what: str) -> Mapping[str, Any]:
            return await self._ask({"number": number, "tell": what}, name, STOP_SECONDS)

        url = await self._start(number, order)
        try:
            yield HostedLab(url, tell)
        finally:
            with contextlib.suppress(LabError):
                await tell("stop")

    async def _start(self, number: int, order: LabOrder) -> str:
        name = f"the lab (scene {order.scene})"
        plain = dataclasses.asdict(dataclasses.replace(order, fixes=frozenset())) | {"fixes": sorted(order.fixes)}
        reply = await self._ask({"number": number, "order": plain}, name, READY_SECONDS)
        if "error" in reply:
            raise LabError(f"{name} cannot be served: {reply['error']}")
        return str(reply["url"])

    async def _ask(self, message: Mapping[str, object], name: str, seconds: float) -> dict[str, Any]:
        """Send one line and read its reply; a host that failed to give one is of no use any more."""
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise LabError(f"{name} is not connected")
        async with self._turn:
            try:
                async with asyncio.timeout(seconds):
                    with contextlib.suppress(ConnectionError):
                        process.stdin.write(json.dumps(message).encode() + b"\n")
                        await process.stdin.drain()
                    line = await process.stdout.readline()
            except TimeoutError:
                await _end(process)
                raise LabError(f"{name} was not ready within {seconds:.0f} s") from None
        try:
            reply: dict[str, Any] = json.loads(line)
        except ValueError:
            raise LabError(f"{name} ended before it was ready; its message stands above") from None
        return reply


@contextlib.asynccontextmanager
async def lab_host() -> AsyncIterator[LabHost]:
    """Start the child; it ends behind the caller, or by itself when its parent was killed.

    The child's standard input stays open as long as we live: its end tells the child that we are gone.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES,
    )
    try:
        yield LabHost(process)
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


# --- the child ------------------------------------------------------------------------------------------------------


async def _serve_orders(lines: asyncio.Queue[str]) -> None:
    """Obey the parent, line by line, until told to end; all labs end with it."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with contextlib.AsyncExitStack() as all_labs:
        labs: Labs = {}
        stop = asyncio.create_task(stopped.wait())
        while True:
            line = asyncio.create_task(lines.get())
            await asyncio.wait([line, stop], return_when=asyncio.FIRST_COMPLETED)
            if stop.done():
                line.cancel()
                return
            message = json.loads(line.result())
            sys.stdout.write(json.dumps(await _obey(message, labs, all_labs)) + "\n")
            sys.stdout.flush()


Labs = dict[int, tuple[LabServer, contextlib.AsyncExitStack]]


async def _obey(message: Mapping[str, Any], labs: Labs, all_labs: contextlib.AsyncExitStack) -> dict[str, object]:
    number = message["number"]
    if "order" not in message:
        return await _told(number, message["tell"], labs)
    lab = await all_labs.enter_async_context(contextlib.AsyncExitStack())
    try:
        server = await lab.enter_async_context(LabServer(_settings(message["order"])))
    except LabError as error:
        return {"error": str(error)}
    labs[number] = (server, lab)
    return {"url": server.base_url}


async def _told(number: int, what: str, labs: Labs) -> dict[str, object]:
    server, lab = labs[number]
    if what == "count":
        return {"counters": server.counters()}
    if what == "rollout":
        await server.rollout()
    else:
        del labs[number]
        await lab.aclose()
    return {}


def _settings(order: Mapping[str, Any]) -> LabSettings:
    settings = stage_scene(order["scene"], shrink=order["shrink"], time_scale=order["time_scale"])
    if order["is_honest"]:
        settings = with_honest_failings(settings, order["seed"] or 0)
    return dataclasses.replace(
        settings,
        keys=order["keys"],
        faults={**settings.faults, **order["faults"]},
        fixes=settings.fixes | set(order["fixes"]),
        seed=settings.seed if order["seed"] is None else order["seed"],
    )


def _read_orders(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str]) -> None:
    """Hand lines over until the parent closes the pipe, or is gone; then ask for the end."""
    # The descriptor itself: a thread that waits in `sys.stdin` holds its lock, which the interpreter's end needs.
    pending = b""
    while data := os.read(sys.stdin.fileno(), 65_536):
        *whole, pending = (pending + data).split(b"\n")
        for line in whole:
            loop.call_soon_threadsafe(lines.put_nowait, line.decode())
    os.kill(os.getpid(), signal.SIGTERM)


async def _be_the_child() -> None:
    lines: asyncio.Queue[str] = asyncio.Queue()
    threading.Thread(target=_read_orders, args=(asyncio.get_running_loop(), lines), daemon=True).start()
    await _serve_orders(lines)


if __name__ == "__main__":
    # Clients that hang up in the middle are what scenarios do all day: no warning for each write after it.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    asyncio.run(_be_the_child())
