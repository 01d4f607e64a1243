"""What the endpoint sends, shows and hides."""

import json
from typing import Any

import pytest

from prober.domain.errors import ConfigError
from prober.domain.observation import FailureKind
from tests.support.hostile import DONE, SSE_HEAD, Peer, answering, delta, finish, response, whole
from tests.support.http_endpoint import (
    BOB,
    SECRET,
    make_endpoint,
    make_probe,
    make_prompt,
    observe,
    serving,
)


async def answer(peer: Peer) -> None:
    await peer.read_request()
    await peer.send(SSE_HEAD + delta("hello") + finish() + DONE)


async def test_request_is_what_the_server_gets():
    """Path, headers and body arrive as promised: own id, identity coding, honest name, the tenant's credential."""
    async with serving(answer, extra_headers={"X-Extra": "1"}, extra_body={"seed": 7}) as (endpoint, server):
        seen = await endpoint.send(make_probe(), make_prompt("a prompt\n"))
        await endpoint.send(make_probe(BOB, stream=False), make_prompt())
    first, second = server.calls
    assert (first.method, first.path) == ("POST", "/v1/chat/completions")
    assert first.headers["authorization"] == f"Bearer {SECRET}"
    assert second.headers["authorization"] == "Bearer sk-bob"
    assert first.headers["accept-encoding"] == "identity"
    assert first.headers["user-agent"].startswith("isolation-prober/")
    assert first.headers["x-request-id"] == seen.request_id
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    assert first.headers["x-extra"] == "1"
    body = json.loads(first.body)
    assert (body["stream"], body["seed"], body["max_tokens"]) == (True, 7, 64)
    assert body["messages"][-1]["content"] == "a prompt\n"
    assert "transfer-encoding" not in first.headers


@pytest.mark.parametrize(
    ("settings", "name", "value"),
    [
        ({"credential_header": "x-api-key", "credential_scheme": ""}, "x-api-key", SECRET),
        ({"credential_header": "api-key", "credential_scheme": "Key"}, "api-key", f"Key {SECRET}"),
    ],
)
async def test_credential_goes_where_the_settings_say(settings: dict[str, Any], name: str, value: str):
    """Other header and scheme, for gateways that want them."""
    async with serving(answer, **settings) as (endpoint, server):
        await endpoint.send(make_probe(), make_prompt())
    assert server.calls[0].headers[name] == value
    assert "authorization" not in server.calls[0].headers


async def test_empty_credential_sends_no_header():
    """A target without authentication is reached without it."""
    async with serving(answer, credentials={"alice": ""}) as (endpoint, server):
        seen = await endpoint.send(make_probe(), make_prompt())
    assert seen.text == "hello"
    assert "authorization" not in server.calls[0].headers


async def test_missing_credential_is_our_own_fault():
    """A tenant we hold no credential for is never sent without one."""
    async with serving(answer, credentials={}) as (endpoint, server):
        seen = await endpoint.send(make_probe(), make_prompt())
    assert (seen.failure, server.connections) == (FailureKind.INTERNAL, 0)
    assert seen.failure_detail == "the tenant has no credential"


@pytest.mark.parametrize("secret", ["sk\r\nx: 1", "schlüssel", " sk", "sk\n"])
def test_secret_that_no_header_can_carry_is_refused_unseen(secret: str):
    """A credential with a line break or blank is a configuration error that does not show it."""
    with pytest.raises(ConfigError) as caught:
        make_endpoint("http://127.0.0.1:1/v1", credentials={"alice": secret})
    assert "sk" not in str(caught.value)
    assert "schl" not in str(caught.value)


async def test_no_secret_in_anything_that_can_be_shown():
    """Neither the endpoint nor an observation shows a credential, whatever fails."""
    endpoint = make_endpoint("http://127.0.0.1:1/v1", proxy="http://user:pr0xy-pass@127.0.0.1:1")
    seen = await endpoint.send(make_probe(), make_prompt())
    for shown in (repr(endpoint), repr(seen), str(vars(endpoint)["_settings"])):
        assert SECRET not in shown
        assert "pr0xy-pass" not in shown


async def test_fault_of_our_own_is_internal_and_shows_its_class_only():
    """An exception out of our own code is data too, without its text."""

    class Broken:
        name = "broken"

        def path(self, model: str) -> str:
            return "/x"

        def body(self, *args: object, **options: object) -> bytes:
            raise RuntimeError(SECRET)

    endpoint = make_endpoint("http://127.0.0.1:1/v1")
    endpoint._dialect = Broken()
    seen = await endpoint.send(make_probe(), make_prompt())
    assert (seen.failure, seen.failure_detail) == (FailureKind.INTERNAL, "RuntimeError")


async def test_dialect_that_raises_is_internal():
    """A decoder's crash does not lose the observation."""
    async with serving(answer) as (endpoint, _):
        sound = endpoint._dialect

        class Crashing:
            name = "crashing"
            path = staticmethod(sound.path)
            body = staticmethod(sound.body)

            def frame(self, data: bytes, event: str) -> None:
                raise ZeroDivisionError(data)

        endpoint._dialect = Crashing()
        seen = await endpoint.send(make_probe(), make_prompt())
    assert (seen.status, seen.failure, seen.failure_detail) == (200, FailureKind.INTERNAL, "ZeroDivisionError")


async def test_dialect_that_raises_on_a_refusal_is_internal():
    """A classifier's crash keeps the status."""

    async def refuse(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(response("400 Bad Request", b""))

    async with serving(refuse) as (endpoint, _):
        sound = endpoint._dialect

        class Crashing:
            name = "crashing"
            path = staticmethod(sound.path)
            body = staticmethod(sound.body)

            def refusal(self, status: int, body: bytes) -> None:
                raise ZeroDivisionError(body)

        endpoint._dialect = Crashing()
        seen = await endpoint.send(make_probe(), make_prompt())
    assert (seen.status, seen.failure, seen.failure_detail) == (400, FailureKind.INTERNAL, "ZeroDivisionError")


async def test_evidence_headers_are_allow_listed_and_bounded():
    """Ids and cache marks come back; cookies, unknown headers and long values do not."""
    wanted = {"x-request-id": "r1", "cf-ray": "8f", "x-litellm-attempted-fallbacks": "1", "retry-after": "3"}
    extra = "".join(f"{name}: {value}\r\n" for name, value in wanted.items())
    extra += "Set-Cookie: a=b\r\nX-Other: 1\r\nServer: " + "s" * 500 + "\r\n"
    extra += "".join(f"x-litellm-{number}: 1\r\n" for number in range(60))

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(response("200 OK", whole("hello"), extra=extra))

    headers = (await observe(handler)).evidence_headers
    assert wanted.items() <= headers.items()
    assert not {"set-cookie", "x-other"} & headers.keys()
    assert headers["server"].startswith("sha256:")
    assert headers["content-type"] == "application/json"
    assert len(headers) == 40


async def test_unprintable_evidence_is_made_printable():
    """Control and non-ASCII characters of a header do not reach logs."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(b"HTTP/1.1 200 OK\r\nServer: a\x80\xffb\r\nContent-Length: 0\r\n\r\n")

    assert (await observe(handler)).evidence_headers["server"].startswith("sha256:")


async def test_a_peer_that_sends_our_credential_back_does_not_get_it_into_the_records():
    """The peer knows the credential: in ids, names, codes and headers it is replaced by a hash, in any case."""
    echo = SECRET.upper()
    document = {"id": f"x-{echo}", "model": echo, "choices": [{"message": {"content": "a"}, "finish_reason": echo}]}
    seen = await observe(
        answering(response("200 OK", json.dumps(document).encode(), extra=f"X-Request-Id: {echo}\r\n"))
    )
    refused = await observe(answering(response("400 Bad", json.dumps({"error": {"code": echo}}).encode())))

    assert seen.status == 200
    assert SECRET not in repr((seen, refused)).lower()
    assert seen.response_id is not None
    assert seen.response_id.startswith("sha256:")
    assert refused.refusal is not None
    assert refused.refusal.code.startswith("sha256:")
