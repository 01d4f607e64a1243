"""TLS on the way to the target: certificates of both sides, handshakes that fail."""

import asyncio
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
from prober.endpoint.connection import tls_context
from prober.endpoint.network import SocketBackend
from prober.endpoint.settings import ConnectionSettings
from tests.support.hostile import DONE, SSE_HEAD, Peer, delta, hostile
from tests.support.http_endpoint import make_endpoint, make_probe, make_prompt

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
