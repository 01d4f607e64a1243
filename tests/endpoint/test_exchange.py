"""What the remote does is data: every misbehaviour of a server, on real sockets."""

import asyncio
import gzip
import json
import time

import pytest

from prober.domain.observation import FailureKind, RefusalReason
from prober.domain.probe import Disconnect, DisconnectMoment
from tests.support.hostile import (
    DONE,
    SSE_HEAD,
    Handler,
    Peer,
    chunked,
    delta,
    finish,
    response,
    sse,
    usage,
    whole,
)
from tests.support.http_endpoint import make_probe, make_prompt, observe, serving

BIG = "word " * 1_000_000
OVERLONG = (
    b'{"error":{"message":"This model\'s maximum context length is 1000 tokens","code":"context_length_exceeded"}}'
)


def answering(*parts: bytes) -> Handler:
    async def handler(peer: Peer) -> None:
        await peer.read_request()
        for part in parts:
            await peer.send(part)
            await asyncio.sleep(0)

    return handler


def stalling(*parts: bytes) -> Handler:
    async def handler(peer: Peer) -> None:
        await peer.read_request()
        for part in parts:
            await peer.send(part)
        await peer.until_closed()

    return handler


async def test_stream_is_read_to_its_end():
    """Text, reasoning, usage, ids and the end mark of a stream come back."""
    seen = await observe(
        answering(
            SSE_HEAD,
            b": keep-alive\n\n",
            delta("", role="assistant"),
            delta(None, reasoning_content="hmm"),
            delta("hel"),
            delta("lo"),
            finish("length"),
            usage(7, 3),
            DONE,
        )
    )
    assert (seen.status, seen.failure, seen.refusal) == (200, None, None)
    assert (seen.text, seen.reasoning) == ("hello", "hmm")
    assert (seen.finish_reason, seen.usage.prompt_tokens, seen.usage.completion_tokens) == ("length", 7, 3)
    assert (seen.response_id, seen.model_reported) == ("chatcmpl-1", "llm")
    assert (seen.is_stream, seen.is_terminated, seen.token_frames, seen.bad_frames) == (True, True, 3, 0)
    assert seen.request_id


async def test_json_despite_stream_is_read_whole():
    """A server that ignores `stream: true` is understood."""
    seen = await observe(answering(response("200 OK", whole("hello"))))
    assert (seen.text, seen.is_stream, seen.is_terminated, seen.failure) == ("hello", False, True, None)
    assert seen.timeline.first_token is not None


async def test_stream_despite_json_is_read_as_stream():
    """A server that streams unasked, under a wrong content type, is understood."""
    body = delta("hello") + finish() + DONE
    seen = await observe(answering(response("200 OK", body)), make_probe(stream=False))
    assert (seen.text, seen.is_stream, seen.is_terminated) == ("hello", True, True)


async def test_json_under_the_event_stream_type_is_read_whole():
    """A JSON body announced as events is understood."""
    seen = await observe(answering(response("200 OK", whole("hello"), "text/event-stream")))
    assert (seen.text, seen.is_stream) == ("hello", False)


async def test_large_json_is_decoded():
    """A body that is decoded off the loop comes back the same."""
    seen = await observe(answering(response("200 OK", whole("x" * 300_000))))
    assert (len(seen.text), seen.is_terminated) == (300_000, True)


@pytest.mark.parametrize("body", [b"", b"<html>502</html>", b'{"choices": [{"mess', b"null"])
async def test_body_that_is_no_answer_is_malformed(body: bytes):
    """A 200 without an answer in it counts as a bad frame and is not terminated."""
    seen = await observe(answering(response("200 OK", body)))
    assert (seen.status, seen.text, seen.is_terminated, seen.bad_frames) == (200, "", False, 1)


async def test_stream_without_any_end_mark_is_not_terminated():
    """A clean close without `[DONE]` or finish reason is told apart from a whole answer."""
    seen = await observe(answering(SSE_HEAD, delta("hel")))
    assert (seen.text, seen.failure, seen.is_terminated) == ("hel", None, False)


async def test_bad_frames_are_counted_and_reading_goes_on():
    """HTML and broken JSON within a stream cost nothing but their own frame."""
    seen = await observe(answering(SSE_HEAD, sse("<html>"), delta("a"), sse('{"choices'), b"html\n", delta("b"), DONE))
    assert (seen.text, seen.bad_frames, seen.token_frames) == ("ab", 3, 2)


async def test_answer_split_anywhere_reads_the_same():
    """Frames and characters cut by the network come back whole."""
    stream = delta("zwölf Boxkämpfer \u2028 日本") + finish() + DONE

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(SSE_HEAD)
        for start in range(0, len(stream), 3):
            await peer.send(stream[start : start + 3])
            await asyncio.sleep(0)

    seen = await observe(handler)
    assert (seen.text, seen.bad_frames) == ("zwölf Boxkämpfer \u2028 日本", 0)


async def test_error_frame_in_a_200_is_a_refusal_in_stream():
    """A healthy server's late length rejection is classified like an early one, and marked."""
    seen = await observe(answering(SSE_HEAD, sse(json.loads(OVERLONG)), DONE))
    assert seen.status == 200
    assert seen.refusal is not None
    assert (seen.refusal.reason, seen.refusal.in_stream) == (RefusalReason.LENGTH, True)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        ("400 Bad Request", OVERLONG, RefusalReason.LENGTH),
        ("401 Unauthorized", b'{"error":"Unauthorized"}', RefusalReason.AUTH),
        ("404 Not Found", b"", RefusalReason.NOT_FOUND),
        ("413 Payload Too Large", b"<html>413</html>", RefusalReason.BYTES),
        ("429 Too Many Requests", b"", RefusalReason.RATE),
        ("500 Internal Server Error", b"Internal Server Error", RefusalReason.SERVER),
    ],
)
async def test_status_that_is_no_success_is_a_refusal(status: str, body: bytes, reason: RefusalReason):
    """A refusal by status comes back with status and reason, and is no failure."""
    seen = await observe(answering(response(status, body)))
    assert (seen.status, seen.failure) == (int(status[:3]), None)
    assert seen.refusal is not None
    assert (seen.refusal.reason, seen.refusal.in_stream) == (reason, False)


@pytest.mark.parametrize("location", ["http://127.0.0.1:1/elsewhere", "http://[broken", "ftp://x"])
async def test_redirect_is_data_and_is_not_followed(location: str):
    """A 3xx comes back as it is, whatever its address looks like."""
    handler = answering(response("307 Temporary Redirect", b"", extra=f"Location: {location}\r\n"))
    async with serving(handler) as (endpoint, server):
        seen = await endpoint.send(make_probe(), make_prompt())
    assert (seen.status, seen.failure, len(server.calls)) == (307, None, 1)
    assert seen.refusal is not None
    assert seen.refusal.reason is RefusalReason.OTHER


async def test_early_refusal_of_a_large_prompt_is_seen():
    """A server that refuses by the headers and resets, with megabytes unread, is not mistaken for a broken one."""

    async def handler(peer: Peer) -> None:
        await peer.read_head()
        await peer.send(response("401 Unauthorized", b'{"error":"Unauthorized"}', extra="Connection: close\r\n"))

    for _ in range(5):
        seen = await observe(handler, text=BIG)
        assert (seen.status, seen.failure) == (401, None)
        assert seen.timeline.body_sent is None


async def test_early_refusal_by_a_server_that_stops_reading_is_seen():
    """A refusal ends the upload even when the server neither reads on nor closes."""

    async def handler(peer: Peer) -> None:
        await peer.read_head()
        peer.writer.transport.pause_reading()
        await peer.send(response("413 Payload Too Large", b"<html>too large</html>"))
        await asyncio.sleep(3)

    began = time.monotonic()
    seen = await observe(handler, text=BIG * 2, receive_buffer=65536)
    assert (seen.status, seen.failure) == (413, None)
    assert time.monotonic() - began < 2


async def test_headers_before_the_whole_request_do_not_cut_the_upload():
    """A server that opens its stream while it still reads gets the whole prompt."""

    async def handler(peer: Peer) -> None:
        await peer.read_head()
        await peer.send(SSE_HEAD)
        await asyncio.sleep(0.05)
        peer.call.body = await peer.reader.readexactly(int(peer.call.headers["content-length"]))
        await peer.send(delta("hello") + DONE)

    async with serving(handler, receive_buffer=65536) as (endpoint, server):
        seen = await endpoint.send(make_probe(), make_prompt(BIG))
    assert (seen.text, seen.failure) == ("hello", None)
    assert len(server.calls[0].body) > len(BIG)


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


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (Disconnect(moment=DisconnectMoment.MID_STREAM, after_seconds=0.1), "ab"),
        (Disconnect(moment=DisconnectMoment.AFTER_TOKENS, after_tokens=2), "ab"),
    ],
)
async def test_planned_disconnect_in_the_stream_keeps_what_came(plan: Disconnect | None, text: str):
    """We hang up as planned, the server notices, and the text so far is kept."""
    async with serving(stalling(SSE_HEAD, delta("", role="assistant"), delta("a"), delta("b"))) as (endpoint, server):
        seen = await endpoint.send(make_probe(disconnect=plan), make_prompt())
        await asyncio.sleep(0.05)
        assert server.open == 0
    assert (seen.status, seen.failure, seen.text) == (200, FailureKind.ABANDONED, text)
    assert seen.failure_detail == "planned disconnect"


async def test_planned_disconnect_before_headers():
    """BEFORE_HEADERS hangs up its seconds after the request started, as the server sees it."""
    plan = Disconnect(moment=DisconnectMoment.BEFORE_HEADERS, after_seconds=0.15)
    async with serving(stalling()) as (endpoint, server):
        seen = await endpoint.send(make_probe(disconnect=plan), make_prompt())
        await asyncio.sleep(0.05)
        call = server.calls[0]
    assert (seen.status, seen.failure) == (None, FailureKind.ABANDONED)
    assert call.closed_at is not None
    assert 0.1 < call.closed_at - call.first_byte_at < 0.4


async def test_planned_disconnect_before_headers_is_void_once_they_came():
    """A server that was quicker than the plan is read to its end."""
    plan = Disconnect(moment=DisconnectMoment.BEFORE_HEADERS, after_seconds=0.1)

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(SSE_HEAD)
        await asyncio.sleep(0.2)
        await peer.send(delta("hello") + DONE)

    seen = await observe(handler, make_probe(disconnect=plan))
    assert (seen.text, seen.failure) == ("hello", None)


async def test_planned_disconnect_in_prefill_counts_from_the_received_body():
    """MID_PREFILL waits for the server to have the whole prompt, headers or not."""
    plan = Disconnect(moment=DisconnectMoment.MID_PREFILL, after_seconds=0.1)
    async with serving(stalling(SSE_HEAD, b": keep-alive\n\n")) as (endpoint, server):
        seen = await endpoint.send(make_probe(disconnect=plan), make_prompt(BIG))
        await asyncio.sleep(0.05)
        call = server.calls[0]
    assert (seen.status, seen.failure) == (200, FailureKind.ABANDONED)
    assert len(call.body) > len(BIG)
    assert call.closed_at is not None
    assert call.closed_at - call.body_at > 0.05


async def test_planned_disconnect_in_prefill_is_void_once_a_token_came():
    """An answer that began before the planned moment is read to its end."""
    plan = Disconnect(moment=DisconnectMoment.MID_PREFILL, after_seconds=0.1)

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(SSE_HEAD + delta("hel"))
        await asyncio.sleep(0.2)
        await peer.send(delta("lo") + DONE)

    seen = await observe(handler, make_probe(disconnect=plan))
    assert (seen.text, seen.failure) == ("hello", None)


async def test_planned_disconnect_in_prefill_without_the_kernels_word(monkeypatch: pytest.MonkeyPatch):
    """Where acknowledgement cannot be told, handing the body over is the moment that counts."""
    monkeypatch.setattr("prober.endpoint.network.kernel_send_queue", lambda descriptor: None)
    plan = Disconnect(moment=DisconnectMoment.MID_PREFILL, after_seconds=0.05)
    seen = await observe(stalling(), make_probe(disconnect=plan))
    assert seen.failure is FailureKind.ABANDONED
    assert seen.timeline.body_acked is None
