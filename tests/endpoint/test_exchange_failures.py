"""What the remote does wrong is data: every misbehaviour of a server, on real sockets."""

import asyncio
import gzip

import pytest

from prober.domain.observation import FailureKind, RefusalReason
from tests.support.hostile import (
    DONE,
    SSE_HEAD,
    Peer,
    answering,
    chunked,
    delta,
    response,
    stalling,
    whole,
)
from tests.support.http_endpoint import make_probe, make_prompt, observe, serving

pytestmark = pytest.mark.alone

BIG = "word " * 1_000_000


OVERLONG = (
    b'{"error":{"message":"This model\'s maximum context length is 1000 tokens","code":"context_length_exceeded"}}'
)


async def test_hang_before_headers_is_a_hang():
    """Silence after the request is a hang, told as such."""
    seen = await observe(stalling(), hang_seconds=0.2)
    assert (seen.status, seen.failure) == (None, FailureKind.HANG)
    assert seen.failure_detail == "no answer began within 0.2 s"


async def test_hang_within_a_stream_keeps_what_came():
    """Silence in mid-answer is a hang; the text so far is kept."""
    seen = await observe(stalling(SSE_HEAD, delta("hel")), hang_seconds=0.2)
    assert (seen.status, seen.failure, seen.text) == (200, FailureKind.HANG, "hel")
    assert seen.failure_detail == "the answer stood still for 0.2 s"


async def test_hang_within_a_refusal_keeps_its_reason():
    """A refusal whose body never ends is still classified."""
    head = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 9999\r\n\r\n"
    seen = await observe(stalling(head + OVERLONG), hang_seconds=0.2)
    assert (seen.status, seen.failure) == (400, FailureKind.HANG)
    assert seen.refusal is not None
    assert seen.refusal.reason is RefusalReason.LENGTH


async def test_peer_that_stops_reading_is_a_write_failure():
    """An upload that stands still ends after the hang bound."""

    async def handler(peer: Peer) -> None:
        await peer.read_head()
        peer.writer.transport.pause_reading()
        await asyncio.sleep(3)

    seen = await observe(handler, text=BIG * 4, hang_seconds=0.3, receive_buffer=65536)
    assert (seen.status, seen.failure) == (None, FailureKind.WRITE)
    assert seen.failure_detail == "the peer took no byte of the request for 0.3 s"


async def test_slow_but_steady_answer_is_no_hang():
    """Bytes that keep coming, comments too, are no silence."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(SSE_HEAD)
        for _ in range(6):
            await asyncio.sleep(0.1)
            await peer.send(b": keep-alive\n\n")
        await peer.send(delta("hello") + DONE)

    seen = await observe(handler, hang_seconds=0.4)
    assert (seen.text, seen.failure) == ("hello", None)


async def test_endless_stream_ends_at_the_deadline():
    """A stream that never ends is cut at the deadline, text kept."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(SSE_HEAD)
        while True:
            await peer.send(delta("x"))
            await asyncio.sleep(0.01)

    seen = await observe(handler, deadline_seconds=0.4)
    assert (seen.failure, seen.failure_detail) == (FailureKind.HANG, "the whole answer took longer than 0.4 s")
    assert set(seen.text) == {"x"}


async def test_answer_above_the_bound_is_not_read_on():
    """A gigabyte of answer is cut at the byte bound, not collected."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n")
        for _ in range(1000):
            await peer.send(b"[" * 1_000_000, "data")
            peer.call.sent["megabytes"] = peer.call.sent.get("megabytes", 0) + 1

    async with serving(handler, max_response_bytes=1_000_000) as (endpoint, server):
        seen = await endpoint.send(make_probe(), make_prompt())
        await asyncio.sleep(0.05)
    assert seen.failure is FailureKind.TOO_LARGE
    assert seen.bytes_received < 1_200_000
    assert server.calls[0].sent["megabytes"] < 30


async def test_refusal_body_is_read_up_to_a_bound():
    """An endless error page costs 64 KiB."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 1000000000\r\n\r\n")
        for _ in range(1000):
            await peer.send(b"x" * 1_000_000)

    seen = await observe(handler)
    assert (seen.status, seen.failure) == (502, None)
    assert seen.bytes_received < 200_000


@pytest.mark.parametrize("is_reset", [True, False])
async def test_close_without_an_answer(*, is_reset: bool):
    """A peer that closes or resets instead of answering is CLOSED_EARLY."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        if is_reset:
            peer.reset()

    seen = await observe(handler)
    assert (seen.status, seen.failure) == (None, FailureKind.CLOSED_EARLY)
    assert seen.failure_detail.startswith("the peer closed the connection without an answer")


@pytest.mark.parametrize("is_reset", [True, False])
async def test_close_within_a_frame_keeps_what_came(*, is_reset: bool):
    """A stream cut in mid-frame keeps its whole frames; the torn one is a bad frame."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        await peer.send(head + chunked(delta("hel")) + chunked(delta("lo")[:20]))
        await asyncio.sleep(0.05)
        if is_reset:
            peer.reset()

    seen = await observe(handler)
    assert (seen.status, seen.failure, seen.text) == (200, FailureKind.CLOSED_EARLY, "hel")
    assert (seen.bad_frames, seen.is_terminated) == (1, False)
    assert seen.failure_detail.startswith("the peer closed the connection within the answer")


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
    ],
)
async def test_invalid_http_is_a_protocol_failure(garbage: bytes):
    """Bytes that are no HTTP/1.1 are PROTOCOL, and are not quoted."""
    seen = await observe(stalling(garbage))
    assert seen.failure is FailureKind.PROTOCOL
    assert seen.failure_detail == "the answer is no valid HTTP/1.1"


async def test_endless_headers_are_bounded():
    """A header section without end is a protocol failure, not a growing buffer."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await peer.send(b"X-Pad: " + b"x" * 10_000 + b"\r\n")

    assert (await observe(handler)).failure is FailureKind.PROTOCOL


async def test_compressed_answer_is_not_unpacked():
    """Compression we ruled out is a protocol failure: no bomb is opened."""
    body = gzip.compress(whole("hello"))
    seen = await observe(answering(response("200 OK", body, extra="Content-Encoding: gzip\r\n")))
    assert (seen.status, seen.failure) == (200, FailureKind.PROTOCOL)


async def test_server_that_stays_open_after_done_is_left():
    """The stream's own end mark ends the wait, without a failure; stragglers are still read."""
    seen = await observe(stalling(SSE_HEAD, delta("hel") + DONE, delta("lo")))
    assert (seen.text, seen.failure, seen.is_terminated) == ("hello", None, True)
