"""The lab as a child process, so that its work never makes our own event loop late."""

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Mapping

from prober.domain.errors import LabError
from prober.lab.scenes import stage_scene
from prober.lab.server import LOOPBACK, serve

READY_SECONDS = 60.0
STOP_SECONDS = 10.0


@contextlib.asynccontextmanager
async def lab_process(
    scene: str, keys: Mapping[str, str], *, shrink: int = 1, time_scale: float | None = None
) -> AsyncIterator[str]:
    """Serve a scene on a free loopback port; yield its URL, end the process behind it.

    The child's standard input stays open as long as we live: its end tells the child that we were killed.

    Args:
        scene: name in `lab.scenes.SCENES`.
        keys: API key -> tenant; handed over through a pipe, so that no process list shows them.
        shrink: divisor of the scene's sizes.
        time_scale: real seconds per virtual second; None: as the scene has it.

    Raises:
        LabError: it did not become ready.
    """
    order = {"scene": scene, "shrink": shrink, "time_scale": time_scale, "keys": dict(keys)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield await _address(process, order)
    finally:
        await _stop(process)


async def _address(process: asyncio.subprocess.Process, order: Mapping[str, object]) -> str:
    name = f"the lab (scene {order['scene']})"
    if process.stdin is None or process.stdout is None:
        raise LabError(f"{name} is not connected")
    try:
        async with asyncio.timeout(READY_SECONDS):
            with contextlib.suppress(ConnectionError):
                process.stdin.write(json.dumps(order).encode() + b"\n")
                await process.stdin.drain()
            line = await process.stdout.readline()
    except TimeoutError:
        raise LabError(f"{name} was not ready within {READY_SECONDS:.0f} s") from None
    try:
        return str(json.loads(line)["url"])
    except (ValueError, KeyError, TypeError):
        raise LabError(f"{name} ended before it was ready; its message stands above") from None


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def main() -> None:
    """Be the child: read the order from standard input and serve it until stopped, or until the parent is gone."""
    order = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        settings = stage_scene(order["scene"], shrink=order["shrink"], time_scale=order["time_scale"])
        asyncio.run(serve(dataclasses.replace(settings, keys=order["keys"]), LOOPBACK, 0))
    except LabError as error:
        sys.exit(str(error))


def _end_with_parent() -> None:
    # The descriptor itself: a thread that waits in `sys.stdin` holds its lock, which the interpreter's end needs.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
