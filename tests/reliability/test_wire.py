"""What the lab was sent is seen, whole or cut off."""

import asyncio
import json

import httpx

from prober.domain.canary import Canary
from reliability.wire import Wire, wire
from tests.support.canary_text import KEYRING, filler
from tests.support.hostile import answering, hostile, response

CANARY = Canary(3, 77)
BODY = json.dumps({"messages": [{"role": "user", "content": filler(CANARY, [30])}]}).encode()


async def test_a_request_is_relayed_and_its_canary_decoded():
    """Answers come back as the lab gave them; the canary is read from the JSON body by the key alone."""
    async with (
        hostile(answering(response("200 OK", b"{}"))) as server,
        wire(f"http://127.0.0.1:{server.port}") as relay,
        httpx.AsyncClient() as client,
    ):
        assert relay.canaries(KEYRING) == set()
        answer = await client.post(f"{relay.url}/v1/chat/completions", content=BODY)
        assert answer.content == b"{}"
        assert server.calls[0].body == BODY
        assert relay.canaries(KEYRING) == {CANARY}
        relay.forget()
        assert relay.canaries(KEYRING) == set()


async def test_half_a_request_counts():
    """A process that is killed while it sends has sent what the wire took; then the relay comes to rest."""
    async with hostile(answering()) as server, wire(f"http://127.0.0.1:{server.port}") as relay:
        await _send_and_die(relay, b"POST / HTTP/1.1\r\nContent-Length: 99999\r\n\r\n" + BODY[: len(BODY) // 2])
        await relay.quiet()
        assert relay.canaries(KEYRING) == {CANARY}


async def _send_and_die(relay: Wire, data: bytes) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", int(relay.url.rpartition(":")[2]))
    writer.write(data)
    await writer.drain()
    writer.transport.abort()
