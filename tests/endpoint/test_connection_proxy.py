"""Proxies on the way to the target."""

import asyncio
import base64
import contextlib
import datetime as dt
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from prober.domain.observation import FailureKind
from tests.support.hostile import DONE, SSE_HEAD, Peer, delta, hostile
from tests.support.http_endpoint import SECRET, make_endpoint, make_probe, make_prompt

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path):
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return str(path)


def server_context(authority: trustme.CA, name: str = "127.0.0.1", **options: dt.datetime):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **options).configure_cert(context)
    return context


async def answer(peer: Peer) -> None:
    await peer.read_request()
    await peer.send(SSE_HEAD + delta("hello") + DONE)


async def observe(url: str, text: str = "some words\n", **settings: dict[str, Any]):
    endpoint = make_endpoint(url, **settings)
    try:
        return await endpoint.send(make_probe(), make_prompt(text))
    finally:
        await endpoint.close()


async def tunnel(peer: Peer) -> None:
    """A CONNECT proxy."""
    await peer.read_head()
    host, _, port = peer.call.path.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    await peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
            sink.write_eof()

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(pump(peer.reader, writer))
            group.create_task(pump(reader, peer.writer))
    finally:
        writer.transport.abort()


async def test_forward_proxy_gets_the_absolute_address_and_its_own_password():
    """A plain target behind a proxy is asked for by its full URL, with the proxy's credentials."""
    async with hostile(answer) as proxy:
        seen = await observe("http://target.invalid/v1", proxy=f"http://user:pass@127.0.0.1:{proxy.port}")
    (call,) = proxy.calls
    assert seen.text == "hello"
    assert call.path == "http://target.invalid/v1/chat/completions"
    assert call.headers["proxy-authorization"] == "Basic " + base64.b64encode(b"user:pass").decode()
    assert call.headers["authorization"] == f"Bearer {SECRET}"


async def test_tunnel_carries_tls_and_hides_the_credential(authority: trustme.CA, ca_file: str):
    """A TLS target behind a proxy is tunnelled; the request starts after the tunnel stands."""

    async def slow_tunnel(peer: Peer) -> None:
        await asyncio.sleep(0.1)
        await tunnel(peer)

    async with hostile(answer, tls=server_context(authority)) as server, hostile(slow_tunnel) as proxy:
        seen = await observe(
            f"https://127.0.0.1:{server.port}/v1", proxy=f"http://127.0.0.1:{proxy.port}", ca_file=ca_file
        )
    assert (seen.text, seen.failure) == ("hello", None)
    assert proxy.calls[0].method == "CONNECT"
    assert "authorization" not in proxy.calls[0].headers
    assert seen.timeline.connect is not None
    assert seen.timeline.connect >= 0.1
    assert seen.timeline.headers is not None
    assert seen.timeline.headers < 0.1


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_unreachable_proxy_is_a_proxy_failure(scheme: str):
    """A closed proxy port says nothing about the target."""
    async with hostile(answer) as server:
        port = server.port
    seen = await observe(f"{scheme}://127.0.0.1:1/v1", proxy=f"http://127.0.0.1:{port}")
    assert (seen.failure, seen.failure_detail) == (
        FailureKind.PROXY,
        "the proxy gave no connection (ConnectionRefusedError)",
    )


async def test_refused_tunnel_is_a_proxy_failure():
    """A proxy's refusal is told with its status, without its words."""

    async def refuse(peer: Peer) -> None:
        await peer.read_head()
        await peer.send(b"HTTP/1.1 407 Secret Words\r\nContent-Length: 0\r\n\r\n")

    async with hostile(refuse) as proxy:
        seen = await observe("https://127.0.0.1:1/v1", proxy=f"http://127.0.0.1:{proxy.port}")
    assert (seen.status, seen.failure) == (None, FailureKind.PROXY)
    assert seen.failure_detail == "the proxy refused the tunnel (status 407)"


@pytest.mark.parametrize("is_closing", [True, False])
async def test_proxy_that_never_opens_the_tunnel(*, is_closing: bool):
    """A proxy that hangs or closes instead of answering is a proxy failure within the connect bound."""

    async def handler(peer: Peer) -> None:
        await peer.read_head()
        if not is_closing:
            await peer.until_closed()

    async with hostile(handler) as proxy:
        seen = await observe("https://127.0.0.1:1/v1", proxy=f"http://127.0.0.1:{proxy.port}", connect_timeout=0.3)
    assert (seen.status, seen.failure) == (None, FailureKind.PROXY)


async def test_environment_is_not_trusted(monkeypatch: pytest.MonkeyPatch):
    """Proxy variables of the environment do not redirect probes."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with hostile(answer) as server:
        assert (await observe(f"http://127.0.0.1:{server.port}/v1")).text == "hello"
