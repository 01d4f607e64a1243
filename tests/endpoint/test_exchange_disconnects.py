"""Planned disconnects, as the server sees them."""

import asyncio

import pytest

from prober.domain.observation import FailureKind
from prober.domain.probe import Disconnect, DisconnectMoment
from tests.support.hostile import (
    DONE,
    SSE_HEAD,
    Peer,
    delta,
    stalling,
)
from tests.support.http_endpoint import make_probe, make_prompt, observe, serving

pytestmark = pytest.mark.alone

BIG = "word " * 1_000_000


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
