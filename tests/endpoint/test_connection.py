"""The way to the target: names, TLS, client certificates, proxies."""

import asyncio
import base64
import contextlib
import datetime as dt
import socket
import ssl
import time
from pathlib import Path
from typing import Any

import httpcore
import pytest
import trustme

from prober.domain.errors import ConfigError
from prober.domain.observation import FailureKind
from prober.endpoint.connection import Connections, tls_context
from prober.endpoint.network import SocketBackend
from prober.endpoint.settings import ConnectionSettings
from tests.support.hostile import DONE, SSE_HEAD, Peer, delta, hostile
from tests.support.http_endpoint import SECRET, make_endpoint, make_probe, make_prompt


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


async def test_tls_target_is_read_with_all_marks(authority: trustme.CA, ca_file: str):
    """Over TLS a large prompt arrives whole, and the acknowledged body is seen below TLS."""
    async with hostile(answer, tls=server_context(authority)) as server:
        seen = await observe(f"https://127.0.0.1:{server.port}/v1", "word " * 1_000_000, ca_file=ca_file)
    assert (seen.text, seen.failure) == ("hello", None)
    assert len(server.calls[0].body) > 5_000_000
    assert seen.timeline.body_acked is not None
    assert seen.timeline.connect is not None


async def test_early_refusal_over_tls_is_seen(authority: trustme.CA, ca_file: str):
    """A refusal before the body was read is seen through TLS as well."""

    async def refuse(peer: Peer) -> None:
        await peer.read_head()
        await peer.send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await asyncio.sleep(0.2)

    async with hostile(refuse, tls=server_context(authority)) as server:
        seen = await observe(f"https://127.0.0.1:{server.port}/v1", "word " * 2_000_000, ca_file=ca_file)
    assert (seen.status, seen.failure) == (401, None)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("other.example", {}, "another address"),
        ("127.0.0.1", {"not_after": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}, "expired"),
        ("127.0.0.1", {"not_before": dt.datetime(2090, 1, 1, tzinfo=dt.UTC)}, "not valid yet"),
    ],
)
async def test_wrong_certificate_is_named(
    authority: trustme.CA, ca_file: str, name: str, options: dict[str, dt.datetime], words: str
):
    """Wrong host, expired and future certificates are TLS failures in our own words."""
    if "not_before" in options:
        options = {**options, "not_after": dt.datetime(2091, 1, 1, tzinfo=dt.UTC)}
    async with hostile(answer, tls=server_context(authority, name, **options)) as server:
        seen = await observe(f"https://127.0.0.1:{server.port}/v1", ca_file=ca_file)
    assert seen.failure is FailureKind.TLS
    assert words in seen.failure_detail


async def test_host_name_mismatch_is_named(authority: trustme.CA, ca_file: str):
    """A certificate for another name is told apart from one for another address."""
    async with hostile(answer, tls=server_context(authority, "other.example")) as server:
        seen = await observe(f"https://localhost:{server.port}/v1", ca_file=ca_file)
    assert (seen.failure, seen.failure_detail) == (FailureKind.TLS, "the certificate is for another host name")


async def test_unknown_authority_is_named(authority: trustme.CA):
    """Without the private authority's file its certificates are not trusted."""
    async with hostile(answer, tls=server_context(authority)) as server:
        seen = await observe(f"https://127.0.0.1:{server.port}/v1")
    assert seen.failure is FailureKind.TLS
    assert "issuer is not trusted" in seen.failure_detail or "self-signed" in seen.failure_detail


async def test_plain_server_behind_https_is_a_tls_failure():
    """A port that speaks no TLS is a TLS failure, not a hang."""

    async def plain(peer: Peer) -> None:
        await peer.reader.read(10)
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with hostile(plain) as server:
        seen = await observe(f"https://127.0.0.1:{server.port}/v1")
    assert seen.failure is FailureKind.TLS


async def test_server_that_closes_in_the_handshake_is_connect():
    """A closed handshake is no connection."""

    async def close(peer: Peer) -> None:
        await peer.reader.read(10)

    async with hostile(close) as server:
        seen = await observe(f"https://127.0.0.1:{server.port}/v1")
    assert seen.failure is FailureKind.CONNECT


async def test_handshake_that_hangs_ends_at_the_connect_bound():
    """A silent peer costs the connect time-out and no more."""

    async def silent(peer: Peer) -> None:
        await peer.until_closed()

    async with hostile(silent) as server:
        began = time.monotonic()
        seen = await observe(f"https://127.0.0.1:{server.port}/v1", connect_timeout=0.3)
        assert time.monotonic() - began < 1.5
    assert (seen.failure, seen.failure_detail) == (FailureKind.CONNECT, "no connection within 0.3 s")
    assert seen.timeline.end is None


async def test_client_certificate_opens_the_door(authority: trustme.CA, ca_file: str, tmp_path: Path):
    """Mutual TLS works with the configured pair."""
    context = server_context(authority)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    pair = authority.issue_cert("prober@example.org")
    certificate, key = tmp_path / "client.pem", tmp_path / "client.key"
    pair.cert_chain_pems[0].write_to_path(certificate)
    pair.private_key_pem.write_to_path(key)
    async with hostile(answer, tls=context) as server:
        url = f"https://127.0.0.1:{server.port}/v1"
        seen = await observe(url, ca_file=ca_file, client_cert=(str(certificate), str(key)))
    assert seen.text == "hello"


async def test_missing_client_certificate_is_a_tls_failure(authority: trustme.CA, ca_file: str):
    """TLS 1.3 refuses after the handshake, within the exchange: it still is TLS, with OpenSSL's reason."""
    context = server_context(authority)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED

    def refuse(listener: socket.socket) -> None:
        # Blocking sockets: asyncio's server side drops the alert that is to be seen here.
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(5)
            with connection.dup() as kept:
                with contextlib.suppress(ssl.SSLError):
                    context.wrap_socket(connection, server_side=True)
                kept.settimeout(5)
                while kept.recv(65536):
                    pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(asyncio.to_thread(refuse, listener))
        seen = await observe(f"https://127.0.0.1:{listener.getsockname()[1]}/v1", ca_file=ca_file)
        await asyncio.wait_for(serving, 5)
    assert seen.failure is FailureKind.TLS
    assert "CERTIFICATE_REQUIRED" in seen.failure_detail


def test_unusable_certificate_files_are_configuration_errors(authority: trustme.CA, tmp_path: Path):
    """Missing and malformed files are named at start."""
    junk = tmp_path / "junk.pem"
    junk.write_text("junk")
    for ca_file in (str(junk), str(tmp_path / "missing.pem")):
        with pytest.raises(ConfigError, match="ca_file"):
            tls_context(ConnectionSettings(base_url="https://host/v1", ca_file=ca_file))
    with pytest.raises(ConfigError, match="client_cert"):
        tls_context(ConnectionSettings(base_url="https://host/v1", client_cert=(str(junk), str(junk))))


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


async def test_cancelled_handshakes_leave_no_socket(authority: trustme.CA, ca_file: str):
    """Probes cancelled while TLS is being set up leave no descriptor behind."""

    def open_descriptors() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    async with hostile(answer, tls=server_context(authority)) as server:
        endpoint = make_endpoint(f"https://127.0.0.1:{server.port}/v1", ca_file=ca_file, max_in_flight=40)
        await endpoint.send(make_probe(), make_prompt())
        await asyncio.sleep(0.05)
        before = open_descriptors()
        tasks = [asyncio.create_task(endpoint.send(make_probe(), make_prompt())) for _ in range(40)]
        for number, task in enumerate(tasks):
            asyncio.get_running_loop().call_later(number * 0.003, task.cancel)
        await asyncio.wait(tasks, timeout=5)
        await asyncio.sleep(0.1)
        assert open_descriptors() <= before
        assert server.open == 0


async def test_handshake_time_out_is_httpcores(authority: trustme.CA):
    """Alone, without an exchange around it, a handshake ends by its own time-out."""

    async def silent(peer: Peer) -> None:
        await peer.until_closed()

    async with hostile(silent) as server:
        stream = await SocketBackend().connect_tcp("127.0.0.1", server.port)
        with pytest.raises(httpcore.ConnectTimeout):
            await stream.start_tls(ssl.create_default_context(), "127.0.0.1", timeout=0.05)


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


# Proxies.


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
