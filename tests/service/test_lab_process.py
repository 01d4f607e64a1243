"""The lab as a child process."""

import asyncio
import sys

import httpx
import psutil
import pytest

from prober.domain.errors import LabError
from prober.service.lab_process import lab_process

KEYS = {"key-of-alpha": "alpha"}


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE}


async def test_a_lab_serves_while_it_is_needed_and_ends_behind_its_user():
    """The yielded address answers to the keys given; no process is left."""
    before = children()
    async with lab_process("fixed", KEYS) as url, httpx.AsyncClient(trust_env=False, timeout=20) as client:
        started = children() - before
        known = await client.get(f"{url}/v1/models", headers={"authorization": "Bearer key-of-alpha"})

    assert known.status_code == 200
    assert len(started) == 1
    assert not any(psutil.pid_exists(pid) for pid in started)


async def test_a_lab_that_cannot_start_is_said_plainly():
    """An unknown scene is named, with those that there are; nothing is left running."""
    before = children()
    with pytest.raises(LabError, match=r"no scene 'no-such-scene'; there are: incident"):
        async with lab_process("no-such-scene", KEYS):
            pytest.fail("served")

    assert children() == before


async def test_a_lab_that_does_not_get_ready_is_given_up(monkeypatch: pytest.MonkeyPatch):
    """A child that says nothing is ended, not waited for."""
    monkeypatch.setattr("prober.service.lab_host.READY_SECONDS", 0.01)
    before = children()
    with pytest.raises(LabError, match="not ready within"):
        async with lab_process("fixed", KEYS):
            pytest.fail("served")

    assert children() == before


PARENT = """
import asyncio
from prober.service.lab_process import lab_process
async def main():
    async with lab_process("fixed", {"key-of-alpha": "alpha"}) as url:
        print(url, flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_a_lab_does_not_outlive_a_parent_that_was_killed():
    """Nobody is left to end the child of a `prober demo` that got SIGKILL: it ends by itself."""
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    await asyncio.wait_for(parent.stdout.readline(), 30)
    (lab,) = psutil.Process(parent.pid).children()

    parent.kill()
    await parent.wait()

    psutil.wait_procs([lab], timeout=10)
    assert not lab.is_running() or lab.status() == psutil.STATUS_ZOMBIE
