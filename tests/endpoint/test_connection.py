"""The way to the target: names, ports, shared clients."""

import contextlib
from typing import Any

from prober.domain.observation import FailureKind
from prober.endpoint.connection import Connections
from prober.endpoint.settings import ConnectionSettings
from tests.support.hostile import DONE, SSE_HEAD, Peer, delta, hostile
from tests.support.http_endpoint import make_endpoint, make_probe, make_prompt


async def answer(peer: Peer) -> None:
    await peer.read_request()
    await peer.send(SSE_HEAD + delta("hello") + DONE)


async def observe(url: str, text: str = "some words\n", **settings: dict[str, Any]):
    endpoint = make_endpoint(url, **settings)
    try:
        return await endpoint.send(make_probe(), make_prompt(text))
    finally:
        await endpoint.close()


async def test_unresolvable_name_is_dns():
    """A reserved name that never resolves is a DNS failure."""
    seen = await observe("http://no-such-host.invalid/v1")
    assert (seen.failure, seen.failure_detail) == (FailureKind.DNS, "the host name does not resolve")


async def test_refused_connection_is_connect():
    """A closed port is a connect failure with the system's error class."""
    async with hostile(answer) as server:
        port = server.port
    seen = await observe(f"http://127.0.0.1:{port}/v1")
    assert (seen.status, seen.failure) == (None, FailureKind.CONNECT)
    assert seen.failure_detail == "no connection (ConnectionRefusedError)"


async def test_closing_while_a_shared_client_is_in_use_waits_for_its_user():
    """`aclose` takes idle clients down at once, and one in use when its user is done."""
    connections = Connections(ConnectionSettings(base_url="http://127.0.0.1:1/v1"))
    async with connections.shared("alice") as used:
        async with connections.shared("bob") as idle:
            pass
        await connections.aclose()
        assert idle.client.is_closed
        assert not used.client.is_closed
        async with connections.shared("alice") as successor:
            assert successor.client is not used.client
    assert used.client.is_closed
    await connections.aclose()


async def test_lease_that_ends_by_an_exception_is_not_lent_again():
    """A client whose user failed may have lost track of a connection: it is replaced."""
    connections = Connections(ConnectionSettings(base_url="http://127.0.0.1:1/v1"))
    failed = None
    with contextlib.suppress(ZeroDivisionError):
        async with connections.shared("alice") as failed:
            raise ZeroDivisionError
    async with connections.shared("alice") as successor:
        assert failed is not None
        assert successor.client is not failed.client
        assert failed.client.is_closed
    await connections.aclose()
