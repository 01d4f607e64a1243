"""The lab as a child process, so that its work never makes our own event loop late."""

import asyncio
import contextlib
import json
import pathlib
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping

from prober.domain.errors import LabError

READY_SECONDS = 60.0
STOP_SECONDS = 10.0


@contextlib.asynccontextmanager
async def lab_process(scene: str, keys: Mapping[str, str]) -> AsyncIterator[str]:
    """Serve a scene on a free loopback port; yield its URL, end the process behind it.

    Args:
        scene: name in `lab.scenes.SCENES`.
        keys: API key -> tenant; handed over in a file only the user can read.

    Raises:
        LabError: it did not become ready.
    """
    with tempfile.TemporaryDirectory(prefix="prober-lab-") as folder:
        keys_file = pathlib.Path(folder) / "keys.json"
        keys_file.touch(mode=0o600)
        keys_file.write_text(json.dumps(dict(keys)), encoding="utf-8")
        command = [sys.executable, "-m", "prober", "lab", "serve", "--scene", scene, "--port", "0"]
        process = await asyncio.create_subprocess_exec(
            *command, "--keys", str(keys_file), stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
        )
        try:
            yield await _address(process, scene)
        finally:
            await _stop(process)


async def _address(process: asyncio.subprocess.Process, scene: str) -> str:
    if process.stdout is None:
        raise LabError("the lab's output is not connected")
    try:
        async with asyncio.timeout(READY_SECONDS):
            line = await process.stdout.readline()
    except TimeoutError:
        raise LabError(f"the lab (scene {scene}) was not ready within {READY_SECONDS:.0f} s") from None
    try:
        return str(json.loads(line)["url"])
    except (ValueError, KeyError, TypeError):
        raise LabError(f"the lab (scene {scene}) ended before it was ready; its message stands above") from None


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
