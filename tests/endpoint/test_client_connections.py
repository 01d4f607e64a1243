"""Which connections the endpoint opens, keeps and leaves."""

import asyncio
from pathlib import Path

import pytest

from prober.domain.observation import FailureKind
from prober.domain.probe import ConnectionPolicy, Disconnect, DisconnectMoment
from tests.support.hostile import DONE, SSE_HEAD, Peer, delta, finish, response, whole
from tests.support.http_endpoint import (
    ALICE,
    BOB,
    make_probe,
    make_prompt,
    serving,
)

pytestmark = pytest.mark.alone


async def answer(peer: Peer) -> None:
    await peer.read_request()
    await peer.send(SSE_HEAD + delta("hello") + finish() + DONE)


async def answer_kept_alive(peer: Peer) -> None:
    await peer.read_request()
    await peer.send(response("200 OK", delta("hello") + finish() + DONE, "text/event-stream"))


KEEP = {"extra_headers": {"X-Keep": "alive"}}


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_fresh_probes_have_connections_of_their_own():
    """FRESH never reuses a connection, not even the same tenant's."""
    async with serving(answer_kept_alive, **KEEP) as (endpoint, server):
        for tenant in (ALICE, ALICE, BOB):
            assert (await endpoint.send(make_probe(tenant), make_prompt())).text == "hello"
    assert server.connections == 3


async def test_shared_probes_reuse_their_tenants_connection_only():
    """SHARED keeps one tenant's connection alive and never lends it to another tenant."""
    async with serving(answer_kept_alive, **KEEP) as (endpoint, server):
        observations = [
            await endpoint.send(make_probe(tenant, connection=ConnectionPolicy.SHARED), make_prompt())
            for tenant in (ALICE, BOB, ALICE, BOB, ALICE)
        ]
    assert server.connections == 2
    used = {call.headers["authorization"]: set() for call in server.calls if call.headers}
    for call in server.calls:
        if call.headers:
            used[call.headers["authorization"]].add(call.connection)
    assert sorted(map(len, used.values())) == [1, 1]
    assert [seen.timeline.connect is None for seen in observations] == [False, False, True, True, True]
    assert all(seen.timeline.body_acked is not None for seen in observations)


async def test_shared_connections_are_bounded_without_queueing_in_the_pool():
    """Twenty shared probes at once use at most eight connections, and none is lost."""
    async with serving(answer_kept_alive, max_in_flight=20, **KEEP) as (endpoint, server):
        probe = make_probe(connection=ConnectionPolicy.SHARED)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(endpoint.send(probe, make_prompt())) for _ in range(20)]
    assert [task.result().text for task in tasks] == ["hello"] * 20
    assert server.connections <= 8


async def test_shared_connection_the_server_closed_is_replaced():
    """An idle connection that the server closed is not used again."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        del peer.call.headers["x-keep"]
        await peer.send(response("200 OK", whole("hello")))

    async with serving(handler, **KEEP) as (endpoint, server):
        for _ in range(3):
            seen = await endpoint.send(make_probe(connection=ConnectionPolicy.SHARED), make_prompt())
            assert (seen.text, seen.failure) == ("hello", None)
            await asyncio.sleep(0.02)
    assert server.connections == 3


async def test_shared_client_survives_an_abandoned_probe():
    """A planned disconnect on the shared client costs its connection only."""
    plan = Disconnect(moment=DisconnectMoment.AFTER_TOKENS, after_tokens=1)

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        frame = delta("hello")
        await peer.send(head + f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
        await asyncio.sleep(0.02)
        await peer.send(b"0\r\n\r\n")

    async with serving(handler, **KEEP) as (endpoint, server):
        shared = ConnectionPolicy.SHARED
        first = await endpoint.send(make_probe(connection=shared, disconnect=plan), make_prompt())
        second = await endpoint.send(make_probe(connection=shared), make_prompt())
        third = await endpoint.send(make_probe(connection=shared), make_prompt())
    assert (first.failure, second.failure, third.failure) == (FailureKind.ABANDONED, None, None)
    assert server.connections == 2


async def test_pacing_bounds_starts_and_tells_the_wait():
    """The tenant's rate holds, its wait is recorded outside the timed part, and other tenants do not wait."""
    async with serving(answer, starts_per_period=1, period_seconds=0.3) as (endpoint, server):
        first = await endpoint.send(make_probe(), make_prompt())
        second = await endpoint.send(make_probe(), make_prompt())
        other = await endpoint.send(make_probe(BOB), make_prompt())
    assert first.timeline.throttle_wait < 0.1
    assert second.timeline.throttle_wait > 0.2
    assert other.timeline.throttle_wait < 0.1
    assert second.timeline.first_token is not None
    assert second.timeline.first_token < 0.2
    assert server.calls[1].accepted_at - server.calls[0].accepted_at >= 0.28


async def test_cancelled_probes_leave_nothing_behind():
    """200 probes cancelled at all stages leave no socket and no task, here or at the server."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await asyncio.sleep(0.01)
        await peer.send(SSE_HEAD + delta("x"))
        await peer.until_closed()

    async with serving(handler, max_in_flight=50) as (endpoint, server):
        await endpoint.send(make_probe(disconnect=Disconnect(moment=DisconnectMoment.BEFORE_HEADERS)), make_prompt())
        await asyncio.sleep(0.05)
        descriptors = open_descriptors()
        tasks_before = len(asyncio.all_tasks())
        for batch in range(4):
            tasks = [
                asyncio.create_task(
                    endpoint.send(
                        make_probe(connection=ConnectionPolicy.SHARED if number % 2 else ConnectionPolicy.FRESH),
                        make_prompt("word " * (20_000 if batch == 3 else 10)),
                    )
                )
                for number in range(50)
            ]
            for number, task in enumerate(tasks):
                asyncio.get_running_loop().call_later(number * 0.001, task.cancel)
            outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)  # noqa: TID251 - collects
            assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
        await asyncio.sleep(0.2)
        assert len(asyncio.all_tasks()) <= tasks_before
        assert open_descriptors() <= descriptors
        assert server.open == 0
        assert endpoint._lag._timer is None


STALL = "stall"


async def answer_or_stall(peer: Peer) -> None:
    """Answer at once, but prompts that ask to stall never."""
    await peer.read_request()
    if STALL.encode() in peer.call.body:
        await peer.until_closed()
    await peer.send(response("200 OK", delta("hello") + finish() + DONE, "text/event-stream"))


async def test_a_reused_connection_is_told():
    """Only what went out on a connection that had carried an answer before says so."""
    async with serving(answer_kept_alive, **KEEP) as (endpoint, _):
        policies = [ConnectionPolicy.SHARED, ConnectionPolicy.SHARED, ConnectionPolicy.FRESH, ConnectionPolicy.SHARED]
        seen = [await endpoint.send(make_probe(connection=policy), make_prompt()) for policy in policies]
    assert [observation.is_connection_reused for observation in seen] == [False, True, False, True]


@pytest.mark.parametrize("warmed", [0, 1, 3])
async def test_hanging_up_after_a_millisecond_works_on_shared_connections(warmed: int):
    """BEFORE_HEADERS at 1 ms abandons the probe at once, on a new connection and on a kept-alive one."""
    plan = Disconnect(moment=DisconnectMoment.BEFORE_HEADERS, after_seconds=0.001)
    shared = ConnectionPolicy.SHARED
    async with serving(answer_or_stall, **KEEP) as (endpoint, server):
        for _ in range(warmed):
            await endpoint.send(make_probe(connection=shared), make_prompt())
        seen = await endpoint.send(make_probe(connection=shared, disconnect=plan), make_prompt(STALL))
        after = await endpoint.send(make_probe(connection=shared), make_prompt())
        await asyncio.sleep(0.05)
        assert server.open == 1
    assert (seen.failure, seen.status, seen.is_connection_reused) == (FailureKind.ABANDONED, None, warmed > 0)
    assert seen.timeline.end is not None
    assert seen.timeline.end < 0.5
    assert (after.text, after.is_connection_reused) == ("hello", False)


async def test_hanging_up_leaves_the_tenants_other_connections_warm():
    """Of eight warm connections seven carry the burst that follows an abandoned probe; only its own is gone."""
    plan = Disconnect(moment=DisconnectMoment.BEFORE_HEADERS, after_seconds=0.001)
    shared = ConnectionPolicy.SHARED
    waiting, gate = asyncio.Semaphore(0), asyncio.Event()

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        if STALL.encode() in peer.call.body:
            await peer.until_closed()
            return
        waiting.release()
        await gate.wait()
        await peer.send(response("200 OK", delta("hello") + finish() + DONE, "text/event-stream"))

    async with serving(handler, **KEEP) as (endpoint, server):

        async def burst(count: int) -> list[bool]:
            """Send so many at once, none of them answered before all have arrived."""
            gate.clear()
            async with asyncio.TaskGroup() as group:
                probe = make_probe(connection=shared)
                sends = [group.create_task(endpoint.send(probe, make_prompt())) for _ in range(count)]
                for _ in range(count):
                    await waiting.acquire()
                gate.set()
            assert [send.result().text for send in sends] == ["hello"] * count
            return [send.result().is_connection_reused for send in sends]

        assert await burst(8) == [False] * 8
        seen = await endpoint.send(make_probe(connection=shared, disconnect=plan), make_prompt(STALL))
        assert (seen.failure, seen.is_connection_reused) == (FailureKind.ABANDONED, True)
        assert await burst(7) == [True] * 7
    assert server.connections == 8
