import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from prober.domain.errors import ConfigError
from prober.domain.observation import FailureKind
from prober.domain.probe import ConnectionPolicy, Disconnect, DisconnectMoment
from tests.support.hostile import DONE, SSE_HEAD, Peer, delta, finish, response, whole
from tests.support.http_endpoint import (
    ALICE,
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


async def answer_kept_alive(peer: Peer) -> None:
    await peer.read_request()
    await peer.send(response("200 OK", delta("hello") + finish() + DONE, "text/event-stream"))


KEEP = {"extra_headers": {"X-Keep": "alive"}}


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
    assert len(headers["server"]) == 200
    assert len(headers) == 40


async def test_unprintable_evidence_is_made_printable():
    """Control and non-ASCII characters of a header do not reach logs."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(b"HTTP/1.1 200 OK\r\nServer: a\x80\xffb\r\nContent-Length: 0\r\n\r\n")

    assert (await observe(handler)).evidence_headers["server"].isascii()


async def test_fresh_probes_have_connections_of_their_own():
    """FRESH never reuses a connection, not even the same tenant's."""
    async with serving(answer_kept_alive, **KEEP) as (endpoint, server):
        for tenant in (ALICE, ALICE, BOB):
            assert (await endpoint.send(make_probe(tenant), make_prompt())).text == "hello"
    assert server.connections == 3


async def test_shared_probes_reuse_their_tenants_connection_only():
    """SHARED keeps one tenant's connection alive and never lends it to another tenant."""
    async with serving(answer_kept_alive, **KEEP) as (endpoint, server):
        observations = [
            await endpoint.send(make_probe(tenant, connection=ConnectionPolicy.SHARED), make_prompt())
            for tenant in (ALICE, BOB, ALICE, BOB, ALICE)
        ]
    assert server.connections == 2
    used = {call.headers["authorization"]: set() for call in server.calls if call.headers}
    for call in server.calls:
        if call.headers:
            used[call.headers["authorization"]].add(call.connection)
    assert sorted(map(len, used.values())) == [1, 1]
    assert [seen.timeline.connect is None for seen in observations] == [False, False, True, True, True]
    assert all(seen.timeline.body_acked is not None for seen in observations)


async def test_shared_connections_are_bounded_without_queueing_in_the_pool():
    """Twenty shared probes at once use at most eight connections, and none is lost."""
    async with serving(answer_kept_alive, max_in_flight=20, **KEEP) as (endpoint, server):
        probe = make_probe(connection=ConnectionPolicy.SHARED)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(endpoint.send(probe, make_prompt())) for _ in range(20)]
    assert [task.result().text for task in tasks] == ["hello"] * 20
    assert server.connections <= 8


async def test_shared_connection_the_server_closed_is_replaced():
    """An idle connection that the server closed is not used again."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        del peer.call.headers["x-keep"]
        await peer.send(response("200 OK", whole("hello")))

    async with serving(handler, **KEEP) as (endpoint, server):
        for _ in range(3):
            seen = await endpoint.send(make_probe(connection=ConnectionPolicy.SHARED), make_prompt())
            assert (seen.text, seen.failure) == ("hello", None)
            await asyncio.sleep(0.02)
    assert server.connections == 3


async def test_shared_client_survives_an_abandoned_probe():
    """A planned disconnect on the shared client costs its connection only."""
    plan = Disconnect(moment=DisconnectMoment.AFTER_TOKENS, after_tokens=1)

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        frame = delta("hello")
        await peer.send(head + f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
        await asyncio.sleep(0.02)
        await peer.send(b"0\r\n\r\n")

    async with serving(handler, **KEEP) as (endpoint, server):
        shared = ConnectionPolicy.SHARED
        first = await endpoint.send(make_probe(connection=shared, disconnect=plan), make_prompt())
        second = await endpoint.send(make_probe(connection=shared), make_prompt())
        third = await endpoint.send(make_probe(connection=shared), make_prompt())
    assert (first.failure, second.failure, third.failure) == (FailureKind.ABANDONED, None, None)
    assert server.connections == 2


async def test_pacing_bounds_starts_and_tells_the_wait():
    """The tenant's rate holds, its wait is recorded outside the timed part, and other tenants do not wait."""
    async with serving(answer, starts_per_period=1, period_seconds=0.3) as (endpoint, server):
        first = await endpoint.send(make_probe(), make_prompt())
        second = await endpoint.send(make_probe(), make_prompt())
        other = await endpoint.send(make_probe(BOB), make_prompt())
    assert first.timeline.throttle_wait < 0.1
    assert second.timeline.throttle_wait > 0.2
    assert other.timeline.throttle_wait < 0.1
    assert second.timeline.first_token is not None
    assert second.timeline.first_token < 0.2
    assert server.calls[1].accepted_at - server.calls[0].accepted_at >= 0.28


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_cancelled_probes_leave_nothing_behind():
    """200 probes cancelled at all stages leave no socket and no task, here or at the server."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await asyncio.sleep(0.01)
        await peer.send(SSE_HEAD + delta("x"))
        await peer.until_closed()

    async with serving(handler, max_in_flight=50) as (endpoint, server):
        await endpoint.send(make_probe(disconnect=Disconnect(moment=DisconnectMoment.BEFORE_HEADERS)), make_prompt())
        await asyncio.sleep(0.05)
        descriptors = open_descriptors()
        tasks_before = len(asyncio.all_tasks())
        for batch in range(4):
            tasks = [
                asyncio.create_task(
                    endpoint.send(
                        make_probe(connection=ConnectionPolicy.SHARED if number % 2 else ConnectionPolicy.FRESH),
                        make_prompt("word " * (20_000 if batch == 3 else 10)),
                    )
                )
                for number in range(50)
            ]
            for number, task in enumerate(tasks):
                asyncio.get_running_loop().call_later(number * 0.001, task.cancel)
            outcomes = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)  # noqa: TID251 - collects
            assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
        await asyncio.sleep(0.2)
        assert len(asyncio.all_tasks()) <= tasks_before
        assert open_descriptors() <= descriptors
        assert server.open == 0
        assert endpoint._lag._timer is None
