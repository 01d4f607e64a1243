import asyncio
import contextlib
import socket

import httpcore
import pytest

from prober.endpoint.network import SocketBackend, SocketStream, Wire, current_wire
from tests.support.hostile import Handler, Peer, hostile

pytestmark = pytest.mark.alone


class RecordingWire(Wire):
    def __init__(self) -> None:
        self.events: list[str] = []

    def on_connect(self) -> None:
        self.events.append("connect")

    def on_written(self) -> None:
        self.events.append("written")

    def on_read(self) -> None:
        self.events.append("read")


@contextlib.asynccontextmanager
async def connected(handler: Handler, receive_buffer: int | None = None):
    async with hostile(handler, receive_buffer=receive_buffer) as server:
        stream = await SocketBackend().connect_tcp("127.0.0.1", server.port, timeout=5)
        try:
            yield stream, server
        finally:
            await stream.aclose()


async def echo(peer: Peer) -> None:
    while data := await peer.reader.read(65536):
        await peer.send(data)


async def mute(peer: Peer) -> None:
    await asyncio.sleep(5)


async def read_all(stream: SocketStream, total: int) -> bytes:
    got = b""
    while len(got) < total:
        got += await stream.read(1000, timeout=5)
    return got


async def test_bytes_come_back_in_order_whatever_the_read_size():
    """A megabyte through a bounded read-ahead arrives whole and in order."""
    sent = bytes(range(256)) * 4096
    async with connected(echo) as (stream, _):
        writing = asyncio.create_task(stream.write(sent, timeout=5))
        assert await read_all(stream, len(sent)) == sent
        await writing


async def test_wire_hears_what_happens():
    """The exchange of the task is told of connecting, writing and reading, and of the peer's end."""

    async def once(peer: Peer) -> None:
        await peer.send(await peer.reader.read(10))

    wire = RecordingWire()
    before = current_wire.set(wire)
    try:
        async with connected(once) as (stream, _):
            await stream.write(b"x")
            assert wire.stream is stream
            assert await stream.read(10) == b"x"
            assert not wire.is_closed_by_peer
            assert await stream.read(10) == b""
            assert wire.is_closed_by_peer
    finally:
        current_wire.reset(before)
    assert wire.events == ["connect", "written", "read"]


async def test_read_ahead_is_bounded():
    """A peer that pours is held back while nobody reads."""
    poured = 0

    async def pour(peer: Peer) -> None:
        nonlocal poured
        while True:
            await peer.send(b"x" * 100_000)
            poured += 100_000

    async with connected(pour) as (stream, _):
        await asyncio.sleep(0.3)
        assert stream._inbox.size < 1_000_000
        held = poured
        await asyncio.sleep(0.1)
        assert poured == held
        await read_all(stream, 2_000_000)


async def test_time_outs_are_httpcores():
    """Silence and a full pipe end as ReadTimeout and WriteTimeout."""
    async with connected(mute) as (stream, _):
        with pytest.raises(httpcore.ReadTimeout):
            await stream.read(10, timeout=0.05)
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(b"x" * 30_000_000, timeout=0.2)


async def test_reset_is_a_read_error_with_its_cause():
    """A reset connection raises ReadError, then WriteError, and tells why."""

    async def reset(peer: Peer) -> None:
        await peer.reader.read(1)
        peer.reset()

    async with connected(reset) as (stream, _):
        await stream.write(b"x")
        with pytest.raises(httpcore.ReadError) as caught:
            await stream.read(10, timeout=5)
        assert isinstance(caught.value.__context__, ConnectionResetError)
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"x")
        assert stream.unacknowledged() is None


async def test_data_before_a_reset_is_not_lost():
    """What the peer said before it reset the connection is read first."""

    async def say_and_reset(peer: Peer) -> None:
        await peer.reader.read(1)
        await peer.send(b"HTTP/1.1 413 Too Large\r\n\r\n")
        await asyncio.sleep(0.02)
        peer.reset()

    async with connected(say_and_reset) as (stream, _):
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"x" * 50_000_000, timeout=5)
        assert (await stream.read(8, timeout=5)) == b"HTTP/1.1"


async def test_connect_fails_as_httpcore_says():
    """Refused, unresolved and slow connections raise ConnectError and ConnectTimeout with their cause."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(httpcore.ConnectError) as caught:
        await SocketBackend().connect_tcp("127.0.0.1", port)
    assert isinstance(caught.value.__context__, ConnectionRefusedError)
    with pytest.raises(httpcore.ConnectError) as caught:
        await SocketBackend().connect_tcp("no-such-host.invalid", 1)
    assert isinstance(caught.value.__context__, socket.gaierror)
    with pytest.raises(httpcore.ConnectTimeout):
        await SocketBackend().connect_tcp("no-such-host.invalid", 1, timeout=0)


async def test_idle_connection_shows_when_it_is_stale():
    """Unread bytes or the peer's end make a pooled connection unusable; a quiet one is fine."""

    async def close_on_byte(peer: Peer) -> None:
        await peer.reader.read(1)

    async with connected(close_on_byte) as (stream, _):
        assert stream.get_extra_info("is_readable") is False
        await stream.write(b"x")
        await asyncio.sleep(0.05)
        assert stream.get_extra_info("is_readable") is True


async def test_local_address_and_socket_options_are_honoured():
    """The client may choose its address; options the kernel refuses are skipped."""
    async with hostile(echo) as server:
        stream = await SocketBackend().connect_tcp(
            "127.0.0.1",
            server.port,
            local_address="127.0.0.1",
            socket_options=[(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.SOL_SOCKET, 9999, 1)],
        )
        tcp = stream.get_extra_info("socket")
        assert tcp.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        await stream.aclose()


async def test_unread_peer_leaves_bytes_unacknowledged():
    """What the peer has no room for is counted."""
    async with connected(mute, receive_buffer=4096) as (stream, _):
        assert stream.unacknowledged() == 0
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(b"x" * 20_000_000, timeout=0.1)
        assert stream.unacknowledged() > 100_000


async def test_backend_can_sleep():
    """The pool's own sleep is real."""
    began = asyncio.get_running_loop().time()
    await SocketBackend().sleep(0.02)
    assert asyncio.get_running_loop().time() - began >= 0.019
