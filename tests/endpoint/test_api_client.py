"""The client of the prober's own API."""

import json

import pytest

from prober.domain.errors import ConfigError
from prober.endpoint import api_client
from prober.endpoint.api_client import ApiClient
from tests.support.hostile import Handler, Peer, answering, hostile, response, stalling

TOKEN = "iprb_secret-of-the-gate"


def client(port: int, path: str = "", deadline: float = 10.0) -> ApiClient:
    return ApiClient(f"http://127.0.0.1:{port}{path}", TOKEN, deadline_seconds=deadline)


async def test_it_asks_below_the_services_address_with_its_token():
    """Method, path, query, document and headers arrive; a path before /api/v1, as behind a proxy, is kept."""
    async with hostile(answering(response("202 Accepted", b'{"id": "1"}', extra="Retry-After: 7\r\n"))) as server:
        answer = await client(server.port, "/prober/").ask(
            "POST", "/api/v1/runs", query={"a": "b c"}, document={"target": "glm"}, headers={"Idempotency-Key": "k"}
        )
        (call,) = server.calls

    assert (answer.status, answer.document(), answer.retry_after) == (202, {"id": "1"}, 7.0)
    assert (call.method, call.path) == ("POST", "/prober/api/v1/runs?a=b+c")
    assert call.headers["authorization"] == f"Bearer {TOKEN}"
    assert call.headers["idempotency-key"] == "k"
    assert json.loads(call.body) == {"target": "glm"}


@pytest.mark.parametrize(
    "handler",
    [
        answering(b"no http\r\n\r\n"),
        answering(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort"),
        stalling(b"HTTP/1.1 200 OK\r\n"),
    ],
)
async def test_what_the_service_does_is_data(handler: Handler):
    """Nothing is raised, the fault is told in our words, and no address or token in it."""
    async with hostile(handler) as server:
        answer = await client(server.port, deadline=1.0).ask("GET", "/api/v1/runs/1")

    assert answer.status is None
    assert answer.fault
    assert "127.0.0.1" not in answer.fault
    assert TOKEN not in answer.fault


async def test_redirects_are_not_followed():
    """The token goes to the address that was given, and nowhere else."""
    async with hostile(answering(response("302 Found", b"", extra="Location: http://127.0.0.1:9/\r\n"))) as server:
        answer = await client(server.port).ask("GET", "/x")

    assert answer.status == 302


async def test_answers_are_bounded(monkeypatch: pytest.MonkeyPatch):
    """A service gone wild fills no memory."""
    monkeypatch.setattr(api_client, "MAX_ANSWER_BYTES", 1_000)

    async def flood(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(response("200 OK", b"x" * 5_000))

    async with hostile(flood) as server:
        answer = await client(server.port).ask("GET", "/x")
    assert (answer.status, answer.body) == (None, b"")
    assert "more than 1,000 bytes" in answer.fault


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"\xff"])
async def test_a_body_that_is_no_object_is_empty(body: bytes):
    """Whoever reads fields finds none."""
    async with hostile(answering(response("200 OK", body))) as server:
        assert (await client(server.port).ask("GET", "/x")).document() == {}


@pytest.mark.parametrize(
    ("url", "token", "words"),
    [
        ("http://x:port", TOKEN, "no URL"),
        ("ftp://x", TOKEN, "must begin with http"),
        ("prober.example", TOKEN, "must begin with http"),
        ("http://x", "", "the token is none"),
        ("http://x", "a b", "the token is none"),
        ("http://x", "a\nb", "the token is none"),
    ],
)
def test_what_cannot_be_used_is_refused(url: str, token: str, words: str):
    """Before anything is sent; neither is quoted."""
    with pytest.raises(ConfigError, match=words) as caught:
        ApiClient(url, token)
    assert TOKEN not in str(caught.value)


def test_it_shows_nothing_of_itself():
    """Neither address nor token stand in a log that prints it."""
    assert repr(ApiClient("http://user:pw@x/secret", TOKEN)) == "ApiClient()"
