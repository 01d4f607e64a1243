"""What the endpoint sends, shows and hides."""

import dataclasses
import json
from typing import Any

import pytest

from prober.domain.errors import ConfigError
from prober.domain.observation import FailureKind
from prober.domain.options import Malformation, RequestOptions
from tests.support.hostile import DONE, SSE_HEAD, Peer, answering, delta, finish, hostile, response, whole
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


async def test_accounts_named_by_the_peer_are_kept_as_hashes():
    """Equality is all that is asked of them; a header without a value names nobody, and counts stay readable."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        extra = (
            "OpenAI-Organization: acme-corp\r\nAnthropic-Organization-Id:  \r\nX-RateLimit-Remaining-Requests: 59\r\n"
        )
        await peer.send(response("200 OK", whole("hello"), extra=extra))

    headers = (await observe(handler)).evidence_headers
    assert headers["openai-organization"].startswith("sha256:")
    assert "anthropic-organization-id" not in headers
    assert headers["x-ratelimit-remaining-requests"] == "59"


async def test_a_tenant_can_have_an_address_of_its_own():
    """Where the account stands in it; the others keep the target's."""
    paths: list[str] = []

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        paths.append(peer.call.path)
        await peer.send(response("200 OK", whole("hello")))

    async with hostile(handler) as server:
        own = {"bob": f"http://127.0.0.1:{server.port}/accounts/b/"}
        endpoint = make_endpoint(f"http://127.0.0.1:{server.port}/accounts/a", urls=own)
        await endpoint.send(make_probe(), make_prompt())
        await endpoint.send(make_probe(BOB), make_prompt())
        await endpoint.close()
    assert [path.split("/")[2] for path in paths] == ["a", "b"]


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


async def test_options_reach_the_server():
    """Request id, affinity key and body fields of a probe are what the server gets; the next probe has none of them."""
    options = RequestOptions(request_id="twin-1", session="s-1", cache_salt="salt")
    async with serving(answer, session_header="X-Sticky") as (endpoint, server):
        seen = await endpoint.send(dataclasses.replace(make_probe(), options=options), make_prompt())
        await endpoint.send(make_probe(BOB), make_prompt())
    first, second = server.calls
    assert (seen.request_id, first.headers["x-request-id"]) == ("twin-1", "twin-1")
    assert (first.headers["x-sticky"], json.loads(first.body)["cache_salt"]) == ("s-1", "salt")
    assert "x-sticky" not in second.headers
    assert "cache_salt" not in json.loads(second.body)
    assert second.headers["x-request-id"] != "twin-1"


@pytest.mark.parametrize("malformation", list(Malformation))
async def test_a_broken_request_is_sent_whole(malformation: Malformation):
    """Whatever is broken about the body, the HTTP request is sound: the server reads all of it and answers."""
    probe = dataclasses.replace(make_probe(), options=RequestOptions(malformation=malformation))
    async with serving(answering(response("400 Bad Request", b'{"error": {"message": "no"}}'))) as (endpoint, server):
        seen = await endpoint.send(probe, make_prompt())
    assert (seen.status, seen.failure) == (400, None)
    assert len(server.calls[0].body) == int(server.calls[0].headers["content-length"])


async def test_an_affinity_key_that_cannot_be_sent_is_our_own_fault():
    """Nothing is sent, and the message names the header alone."""
    probe = dataclasses.replace(make_probe(), options=RequestOptions(session="two\nlines"))
    async with serving(answer) as (endpoint, server):
        seen = await endpoint.send(probe, make_prompt())
    assert (seen.failure, server.connections) == (FailureKind.INTERNAL, 0)
    assert "x-session-affinity" in seen.failure_detail
    assert "lines" not in seen.failure_detail
