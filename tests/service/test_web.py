"""The API is served in the service's own loop."""

import asyncio
import signal
import socket

import httpx
import pytest
from fastapi import FastAPI, Request

from prober.config.serving import ApiSettings
from prober.domain.errors import ConfigError
from prober.service import web
from prober.service.web import serving


def an_app() -> FastAPI:
    app = FastAPI()

    @app.get("/hello")
    async def hello() -> str:
        return "hello"

    @app.post("/slow")
    async def slow(request: Request) -> int:
        await asyncio.sleep(0.5)
        return len(await request.body())

    return app


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_requests_are_answered_until_the_block_ends(host: str):
    """On a free port of the host asked for; signals stay the service's own."""
    before = signal.getsignal(signal.SIGTERM)
    async with serving(an_app(), ApiSettings(host=host, port=0)) as address, httpx.AsyncClient() as client:
        answer = await client.get(f"{address}/hello")
        assert signal.getsignal(signal.SIGTERM) is before
    assert answer.json() == "hello"
    assert "server" not in answer.headers
    with pytest.raises(httpx.ConnectError):
        await asyncio.to_thread(httpx.get, f"{address}/hello")


async def test_a_port_that_is_taken_is_said_in_our_words():
    """By the keys to change."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        settings = ApiSettings(port=listener.getsockname()[1])
        with pytest.raises(ConfigError, match=r"api\.port"):
            async with serving(an_app(), settings):
                pytest.fail("served")


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /hello HTTP/1.1\r\nHost:", b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\n"],
    ids=["nothing", "half a head", "half a second head"],
)
async def test_a_connection_that_asks_nothing_is_closed(sent: bytes, monkeypatch: pytest.MonkeyPatch):
    """Silence and heads that never end hold a descriptor each, which the prober needs for its database and targets."""
    monkeypatch.setattr(web, "HEAD_SECONDS", 0.1)
    async with serving(an_app(), ApiSettings(port=0)) as address, asyncio.timeout(4):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writer.write(sent)
        answered = await reader.read()
        writer.close()
    assert answered.count(b"HTTP/1.1 200") == sent.count(b"\r\n\r\n")


async def test_a_request_at_work_is_no_silence(monkeypatch: pytest.MonkeyPatch):
    """However long its route takes, and the next one on the same connection as well."""
    monkeypatch.setattr(web, "HEAD_SECONDS", 0.1)
    async with serving(an_app(), ApiSettings(port=0)) as address, httpx.AsyncClient(base_url=address) as client:
        for size in (1, 70_000):
            assert (await client.post("/slow", content=b"x" * size)).json() == size
