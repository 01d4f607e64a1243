"""The plain HTTP client, against servers that misbehave."""

import asyncio
import datetime as dt
import email.utils
import ssl
from pathlib import Path

import pytest
import trustme

from prober.domain.errors import ConfigError
from prober.endpoint.plain_client import MAX_ANSWER_BYTES, PlainAnswer, PlainClient
from tests.support.hostile import Handler, Peer, answering, hostile, response, stalling

SECRET = "T0123-s3cret-path"


async def posted(handler: Handler, **changes: object) -> PlainAnswer:
    async with hostile(handler) as server:
        client = PlainClient(f"http://127.0.0.1:{server.port}/{SECRET}", **{"deadline_seconds": 5.0, **changes})
        return await client.post({"X-Extra": "1"}, b"{}")


async def test_one_post_with_our_headers():
    """Path and query are sent as configured, user and password as basic authentication; no compression is asked for."""
    async with hostile(answering(response("202 Accepted", b"taken"))) as server:
        client = PlainClient(f"http://ann:pw@127.0.0.1:{server.port}/{SECRET}/x?key=1")
        answer = await client.post({"X-Extra": "1", "Content-Type": "application/json"}, b'{"a":1}')
    (call,) = server.calls

    assert (answer.status, answer.body, answer.fault) == (202, b"taken", "")
    assert (call.method, call.path, call.body) == ("POST", f"/{SECRET}/x?key=1", b'{"a":1}')
    assert (call.headers["x-extra"], call.headers["accept-encoding"]) == ("1", "identity")
    assert call.headers["authorization"] == "Basic YW5uOnB3"
    assert call.headers["user-agent"].startswith("isolation-prober/")


async def test_no_redirect_is_followed():
    """A receiver cannot send us, and what we carry, somewhere else; not even an address that is none harms."""
    for place in ("http://127.0.0.1:9/elsewhere", "http://[::bad"):
        answer = await posted(answering(response("307 Temporary Redirect", b"", extra=f"Location: {place}\r\n")))
        assert answer.status == 307


async def test_a_long_answer_is_cut():
    """What a receiver says is bounded, however long it goes on."""

    async def endless(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        for _ in range(200):
            await peer.send(b"x" * 8192)

    answer = await posted(endless)
    assert (answer.status, len(answer.body)) == (200, MAX_ANSWER_BYTES)


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"])
async def test_a_receiver_that_hangs_costs_the_deadline_only(head: bytes):
    """Before the answer or within it: no status is claimed."""
    answer = await asyncio.wait_for(posted(stalling(head), deadline_seconds=0.3), 5)

    assert answer == PlainAnswer(status=None, fault="no answer within 0.3 s")


async def test_what_goes_wrong_is_told_without_the_address():
    """Closed, reset, no HTTP, nobody there: data, in our words."""

    async def resetting(peer: Peer) -> None:
        await peer.read_request()
        peer.reset()

    answers = [
        await posted(answering()),
        await posted(resetting),
        await posted(answering(b"220 smtp.example ESMTP\r\n")),
        await PlainClient(f"http://127.0.0.1:9/{SECRET}").post({}, b""),
        await PlainClient(f"http://no-such-host.invalid/{SECRET}").post({}, b""),
    ]
    for answer in answers:
        assert answer.status is None
        assert answer.fault
        assert SECRET not in repr(answer)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7),
        ("0", 0),
        ("soon", None),
        ("-5", None),
        ("9" * 400, 999_999_999),
        ("", None),
        ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None),
    ],
)
async def test_retry_after_in_seconds(value: str, seconds: float | None):
    """RFC 9110, section 10.2.3; what is none is none."""
    answer = await posted(answering(response("429 Slow Down", b"", extra=f"Retry-After: {value}\r\n")))

    assert (answer.status, answer.retry_after) == (429, seconds)


async def test_retry_after_as_a_date():
    """The other form; a date that is past means now."""
    future = email.utils.format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60), usegmt=True)
    for value, least, most in ((future, 50, 60), ("Tue, 01 Sep 2026 12:00:00 -0000", 0, 0)):
        answer = await posted(answering(response("503 Busy", b"", extra=f"Retry-After: {value}\r\n")))
        assert least <= answer.retry_after <= most


async def test_a_private_authority_is_trusted_where_it_is_named(tmp_path: Path):
    """`ca_file` replaces the public authorities; without it the same certificate is refused."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    async with hostile(answering(response("200 OK", b"")), tls=tls) as server:
        url = f"https://127.0.0.1:{server.port}/{SECRET}"
        trusting = await PlainClient(url, ca_file=str(tmp_path / "ca.pem")).post({}, b"")
        strict = await PlainClient(url).post({}, b"")

    assert trusting.status == 200
    assert (strict.status, strict.fault) == (None, "the certificate's issuer is not trusted")


def test_what_cannot_be_used_is_refused_without_being_shown(tmp_path: Path):
    """The message names no address."""
    for url in (f"ftp://host/{SECRET}", f"http://host:{SECRET}/", f"https:///{SECRET}"):
        with pytest.raises(ConfigError) as caught:
            PlainClient(url)
        assert SECRET not in str(caught.value)
    with pytest.raises(ConfigError, match="ca_file"):
        PlainClient("https://host/", ca_file=str(tmp_path / "none.pem"))
    assert repr(PlainClient(f"http://host/{SECRET}")) == "PlainClient()"
