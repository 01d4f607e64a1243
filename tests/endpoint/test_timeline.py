"""Every mark of the timeline against the server's own record.

Lower bounds are strict: a mark may be late, never early. For a request that started no later than the server saw its
first byte, `mark >= server's event - server's first byte` holds whatever the machine's load.
"""

import asyncio

import pytest

from prober.domain.probe import ConnectionPolicy
from tests.support.hostile import DONE, SSE_HEAD, Peer, chunked, delta, finish, response, sse, usage, whole
from tests.support.http_endpoint import make_probe, make_prompt, serving

pytestmark = pytest.mark.alone

SLACK = 0.15
MARKS = ("headers", "first_byte", "first_frame", "first_token", "last_token", "end")


async def stages(peer: Peer) -> None:
    """Each mark has a moment of its own."""
    await peer.read_request()
    await asyncio.sleep(0.03)
    await peer.send(SSE_HEAD, "headers")
    await asyncio.sleep(0.03)
    await peer.send(b": keep-alive\n\n", "first_byte")
    await asyncio.sleep(0.03)
    await peer.send(delta("", role="assistant") + delta(None), "first_frame")
    await asyncio.sleep(0.03)
    await peer.send(delta("a"), "first_token")
    await asyncio.sleep(0.03)
    await peer.send(delta("b"), "last_token")
    await asyncio.sleep(0.03)
    await peer.send(finish() + usage(5, 2), "end")


async def stages_kept_alive(peer: Peer) -> None:
    """The same with chunks, so that the connection lives on."""
    plain = peer.send

    async def send(data: bytes, mark: str = "") -> None:
        if data is SSE_HEAD:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            await plain(head, mark)
        else:
            await plain(chunked(data), mark)

    peer.send = send
    await stages(peer)
    await plain(b"0\r\n\r\n")


@pytest.mark.parametrize("policy", ConnectionPolicy)
async def test_every_mark_agrees_with_the_server(policy: ConnectionPolicy):
    """No mark is earlier than its event at the server, nor later than the machine's slack allows."""
    async with serving(stages_kept_alive, extra_headers={"X-Keep": "alive"}) as (endpoint, server):
        for _ in range(2):
            seen = await endpoint.send(make_probe(connection=policy), make_prompt())
            call = [call for call in server.calls if call.headers][-1]
            for mark in MARKS:
                at = getattr(seen.timeline, mark)
                event = call.sent[mark] - call.first_byte_at
                assert event <= at <= event + SLACK, mark
            received = call.body_at - call.first_byte_at
            assert 0 <= seen.timeline.body_sent <= seen.timeline.body_acked <= received + SLACK


@pytest.mark.parametrize(
    "blank",
    [
        b": ping\n\n",
        delta("", role="assistant"),
        delta(None),
        sse({"choices": [{"delta": {"content": "", "reasoning_content": ""}}]}),
        sse({"choices": [], "usage": None}),
        sse({"choices": [{"delta": {"tool_calls": []}}]}),
        b"event: ping\ndata: {}\n\n",
    ],
)
async def test_what_carries_no_token_is_no_first_token(blank: bytes):
    """Comments, role frames, empty and null content do not stop the clock."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(SSE_HEAD + blank)
        await asyncio.sleep(0.05)
        await peer.send(delta("a") + DONE, "token")

    async with serving(handler) as (endpoint, server):
        seen = await endpoint.send(make_probe(), make_prompt())
    (call,) = server.calls
    assert seen.timeline.first_token >= call.sent["token"] - call.first_byte_at
    assert seen.token_frames == 1


@pytest.mark.parametrize(
    "token",
    [
        delta(None, reasoning_content="hm"),
        delta(None, reasoning="hm"),
        delta(None, tool_calls=[{"index": 0, "function": {"name": "f", "arguments": ""}}]),
        delta(" "),
    ],
)
async def test_token_of_any_channel_is_the_first(token: bytes):
    """Reasoning, tool calls and a blank are tokens."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(SSE_HEAD)
        await peer.send(token, "token")
        await asyncio.sleep(0.1)
        await peer.send(delta("a") + DONE, "late")

    async with serving(handler) as (endpoint, server):
        seen = await endpoint.send(make_probe(), make_prompt())
    (call,) = server.calls
    assert call.sent["token"] <= seen.timeline.first_token + call.first_byte_at
    assert seen.timeline.first_token < seen.timeline.last_token - 0.05


async def test_whole_body_dates_its_token_by_its_last_byte():
    """Of an answer in one piece nothing is known before it is complete."""
    body = response("200 OK", whole("hello"))

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(body[:-10])
        await asyncio.sleep(0.05)
        await peer.send(body[-10:], "last")

    async with serving(handler) as (endpoint, server):
        seen = await endpoint.send(make_probe(stream=False), make_prompt())
    (call,) = server.calls
    assert seen.timeline.first_byte < 0.05
    assert seen.timeline.first_token == seen.timeline.last_token
    assert seen.timeline.first_token >= call.sent["last"] - call.first_byte_at


async def test_slow_upload_is_dated_by_the_peers_acknowledgement():
    """`body_sent` runs ahead by what the kernel holds; `body_acked` agrees with the server's own reading."""

    async def handler(peer: Peer) -> None:
        await peer.read_head()
        left = int(peer.call.headers["content-length"])
        while left:
            left -= len(await peer.reader.read(min(left, 65536)))
            await asyncio.sleep(0.002)
        peer.call.sent["body"] = asyncio.get_running_loop().time()
        await peer.send(SSE_HEAD + delta("a") + DONE, "token")

    async with serving(handler, receive_buffer=65536) as (endpoint, server):
        seen = await endpoint.send(make_probe(), make_prompt("word " * 1_000_000))
    (call,) = server.calls
    received = call.sent["body"] - call.first_byte_at
    assert received > 0.15
    assert seen.timeline.body_sent < seen.timeline.body_acked
    assert received - 0.06 < seen.timeline.body_acked < received + SLACK
    assert seen.timeline.first_token >= call.sent["token"] - call.first_byte_at


async def test_unacknowledged_body_is_not_guessed(monkeypatch: pytest.MonkeyPatch):
    """Where the kernel does not tell, the mark stays empty and the rest is sound."""
    monkeypatch.setattr("prober.endpoint.network.kernel_send_queue", lambda descriptor: None)
    async with serving(stages) as (endpoint, _):
        seen = await endpoint.send(make_probe(), make_prompt())
    assert seen.timeline.body_acked is None
    assert seen.timeline.body_sent is not None
    assert seen.timeline.first_token is not None


async def test_refused_connection_has_no_marks():
    """Without a request there is nothing to date marks from."""
    async with serving(stages) as (endpoint, server):
        pass
    seen = await endpoint.send(make_probe(), make_prompt())
    assert server.connections == 0
    assert {getattr(seen.timeline, mark) for mark in ("connect", "body_sent", *MARKS)} == {None}


async def test_late_event_loop_makes_timing_untrusted():
    """A stall of ours during the probe is recorded with it."""
    import time  # noqa: PLC0415 - the stall

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        time.sleep(0.06)  # noqa: ASYNC251 - the stall under test: server and prober share this loop
        await peer.send(SSE_HEAD + delta("a") + DONE)

    async with serving(handler) as (endpoint, _):
        seen = await endpoint.send(make_probe(), make_prompt())
    assert seen.timeline.loop_lag_seconds >= 0.04
    assert not seen.timeline.is_trusted
