"""Several labs in one child process."""

import dataclasses

import httpx
import pytest

from prober.domain.errors import LabError
from prober.service.lab_host import LabOrder, lab_host

KEYS = {"key-of-alpha": "alpha"}


async def is_served(url: str) -> bool:
    async with httpx.AsyncClient(trust_env=False, timeout=20) as client:
        try:
            await client.get(f"{url}/health")
        except httpx.TransportError:
            return False
        return True


SMALL = LabOrder(scene="small", keys=KEYS)


async def test_labs_come_and_go_in_one_process():
    """Two labs are served side by side; ending one leaves the other."""
    async with lab_host() as host:
        async with host.lab(SMALL) as first:
            async with host.lab(SMALL) as second:
                assert first.url != second.url
                assert await is_served(first.url)
                assert await is_served(second.url)
            assert not await is_served(second.url)
            assert await is_served(first.url)
        assert not await is_served(first.url)


async def test_a_lab_is_rolled_out_and_counts_on_what_happened():
    """A rollout replaces its clusters, and counters go on over it; strikes stand at 0 from the start."""
    async with lab_host() as host, host.lab(dataclasses.replace(SMALL, faults={"stub_handoff": 0.5})) as lab:
        before = await lab.counters()
        await lab.rollout()
        after = await lab.counters()
        assert await is_served(lab.url)

    assert before["fault_stub_handoff"] == 0
    assert after["restarts"] == before["restarts"] + 1


async def test_a_broken_order_leaves_the_host_usable():
    """An unknown fault is refused in plain words, and the next order is served."""
    mended = dataclasses.replace(SMALL, faults={"stub_handoff": 0.5}, fixes=frozenset({"reject_at_door"}))
    async with lab_host() as host:
        with pytest.raises(LabError, match="no fault 'mischief'"):
            async with host.lab(dataclasses.replace(SMALL, faults={"mischief": 1.0})):
                pytest.fail("served")
        async with host.lab(mended) as lab:
            assert await is_served(lab.url)
