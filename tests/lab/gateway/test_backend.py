"""One backend."""

import asyncio
import collections
import dataclasses

import pytest

from prober.domain.errors import LabError
from prober.lab.cluster import Cluster
from prober.lab.crew import Crew
from prober.lab.gateway.backend import Backend, build_cluster, fingerprint
from tests.support.cluster import SMALL
from tests.support.echo_cluster import EchoCluster


@pytest.mark.parametrize(
    "change", [{"model": "x"}, {"version": "x"}, {"context_tokens": 8_192}, {"prefill_pool_tokens": 4_096}]
)
def test_the_fingerprint_tells_builds_apart(change: dict[str, object]):
    """Another LLM, version or size is another label; what a client cannot care about is not in it."""
    same = dataclasses.replace(SMALL, seed=9, keys={"secret": "a"}, faults={"unread_reply": 1.0})
    assert fingerprint(SMALL) == fingerprint(same)
    assert fingerprint(SMALL) != fingerprint(dataclasses.replace(SMALL, **change))


def test_a_process_hands_its_store_on():
    """What a new process takes over is the store alone; without an earlier one it begins with nothing."""
    first = build_cluster(SMALL, None)
    second = build_cluster(SMALL, first)
    assert isinstance(first, Cluster)
    assert isinstance(second, Cluster)
    assert second.store is first.store
    assert build_cluster(SMALL, EchoCluster()).store is not first.store


async def test_counters_go_on_over_restarts():
    """Strikes counted by the process before are not lost with it."""
    made = []

    class Counting(EchoCluster):
        def facts(self) -> dict[str, object]:
            return {"counters": {"requests": 3, "zero": 0, "note": "x"}, "model": "m"}

    def build(_settings: object, replaced: object) -> Counting:
        made.append(replaced)
        return Counting()

    backend = Backend("b", SMALL, build, Crew(), collections.Counter())
    await backend.start()
    first = backend.cluster
    await backend.restart()
    assert made == [None, first]
    assert backend.facts() == {"counters": {"requests": 6, "zero": 0}, "model": "m"}
    assert not first.is_running
    await backend.stop()


async def test_a_restart_that_fails_does_not_leave_clients_waiting():
    """When the new process cannot start, requests are let through to fail rather than to hang."""

    class OnceOnly(EchoCluster):
        async def start(self) -> None:
            if self.starts:
                raise LabError("no memory")
            await super().start()

    cluster = OnceOnly()
    backend = Backend("b", SMALL, lambda _settings, _replaced: cluster, Crew(), collections.Counter())
    await backend.start()
    with pytest.raises(LabError, match="no memory"):
        await backend.restart()
    assert backend.is_ready.is_set()


async def test_nobody_is_connected_to_a_process_that_is_going():
    """A restart that begins while a connection is being taken is waited for."""
    backend = Backend("b", SMALL, lambda _settings, _replaced: EchoCluster(), Crew(), collections.Counter())
    await backend.start()
    worn = await backend.connect()
    await worn.close()
    backend.connections.give_back(worn)
    # Throwing the worn one away takes a turn of the loop, in which the restart begins.
    connecting = asyncio.create_task(backend.connect())
    await asyncio.sleep(0)
    backend.is_ready.clear()
    for _turn in range(10):
        await asyncio.sleep(0)
    assert not connecting.done()
    backend.is_ready.set()
    async with asyncio.timeout(5):
        assert not (await connecting).is_dead
    await backend.stop()
