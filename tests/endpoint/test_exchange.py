"""What the remote says is data: answers and refusals of every kind, on real sockets."""

import asyncio
import json
import time

import pytest

from prober.domain.observation import RefusalReason
from tests.support.hostile import (
    DONE,
    SSE_HEAD,
    Peer,
    answering,
    delta,
    finish,
    response,
    sse,
    usage,
    whole,
)
from tests.support.http_endpoint import make_probe, make_prompt, observe, serving

pytestmark = pytest.mark.alone

BIG = "word " * 1_000_000


OVERLONG = (
    b'{"error":{"message":"This model\'s maximum context length is 1000 tokens","code":"context_length_exceeded"}}'
)


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
