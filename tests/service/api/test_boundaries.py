"""What holds for every request and answer."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prober.domain.errors import LedgerError
from prober.service.api.boundaries import Bounded, Guarded
from tests.support.api import V1, Served

PLANTED = "password=hunter2 at postgresql://prober:hunter2@db"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Give the body back."""
    body, is_more = b"", True
    while is_more:
        message = await receive()
        body += message.get("body", b"")
        is_more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def asked(app: ASGIApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://prober.test")


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_a_body_of_the_largest_size_passes_whole():
    """The bound is the largest size served; one byte more is 413, stated or not."""
    client = asked(Bounded(echo, 1_024))
    assert (await client.post("/", content=b"x" * 1_024)).text == "x" * 1_024
    assert (await client.post("/", content=chunks(b"x" * 1_000, b"y" * 24))).text == "x" * 1_000 + "y" * 24
    for content in (b"x" * 1_025, chunks(b"x" * 1_000, b"y" * 25)):
        answered = await client.post("/", content=content)
        assert answered.status_code == 413
        assert answered.json()["type"].endswith(":too-large")
        assert answered.headers["connection"] == "close"


async def test_a_body_that_is_too_large_by_its_own_words_is_not_read():
    """Refused by its stated length: nothing of it is waited for."""
    sent: list[Message] = []

    async def never() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-length", b"99999999999999999999")]}
    await Bounded(echo, 1_024)(scope, never, send)
    assert sent[0]["status"] == 413


async def test_a_body_that_trickles_in_is_given_up():
    """A caller that keeps a connection open without sending gets 408 after a while, and loses the connection."""

    async def trickle() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.sleep(60)

    answered = await asked(Bounded(echo, 1_024, seconds=0.05)).post("/", content=trickle())
    assert answered.status_code == 408
    assert answered.headers["connection"] == "close"


async def test_a_caller_who_leaves_reaches_no_route():
    """Half a body starts no run."""

    async def leave() -> Message:
        return {"type": "http.disconnect"}

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError

    await Bounded(refuse, 1_024)({"type": "http", "headers": []}, leave, refuse)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/healthz", f"{V1}/runs", "/nothing", f"{V1}/openapi.json", "/metrics"])
async def test_every_answer_carries_the_headers(api: Served, path: str):
    """No cache keeps it, no page frames it, no browser guesses its type: errors too."""
    headers = (await api.client().get(path)).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


def failing(error: Exception, *, is_late: bool = False) -> tuple[httpx.AsyncClient, list[tuple[str, BaseException]]]:
    """A client of an application that raises, and what it reported."""
    reported: list[tuple[str, BaseException]] = []

    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        if is_late:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise error

    return asked(Guarded(fail, lambda component, fault: reported.append((component, fault)))), reported


async def test_a_fault_of_our_own_tells_nothing():
    """500 in our words, whatever the exception says; it is reported once, for the log to name its class."""
    error = RuntimeError(PLANTED)
    client, reported = failing(error)
    answered = await client.get("/")
    assert answered.status_code == 500
    assert answered.headers["content-type"] == "application/problem+json"
    assert "hunter2" not in answered.text
    assert reported == [("api", error)]


async def test_a_database_that_is_gone_is_503():
    """Whoever asks is told to ask again, and not what the database said."""
    client, reported = failing(LedgerError(PLANTED))
    answered = await client.get("/")
    assert answered.status_code == 503
    assert int(answered.headers["retry-after"]) > 0
    assert "hunter2" not in answered.text
    assert len(reported) == 1


async def test_a_fault_amid_an_answer_is_reported_and_cut_off():
    """What has begun cannot be taken back; the server behind must not log the text either."""
    client, reported = failing(RuntimeError(PLANTED), is_late=True)
    with pytest.raises(AssertionError):
        await client.get("/")
    assert len(reported) == 1


async def test_what_is_no_request_passes():
    """Start-up and shut-down of the application are not for the boundaries."""
    seen: list[str] = []

    async def note(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    async def nothing() -> Message:
        raise AssertionError

    for app in (Bounded(note, 1), Guarded(note, lambda *_: None)):
        await app({"type": "lifespan"}, nothing, nothing)  # type: ignore[arg-type]
    assert seen == ["lifespan", "lifespan"]
