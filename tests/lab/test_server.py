"""The lab as a server: life cycle, hang-ups, records, keys, signals."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable

import httpx
import pytest
import uvicorn

from prober.domain.errors import LabError
from prober.lab.events import Chunk
from prober.lab.keys import ANONYMOUS, ApiKeys
from prober.lab.records import Records
from prober.lab.server import LabServer
from prober.lab.settings import LabSettings
from prober.lab.surfaces.exchange import disconnected
from prober.lab.surfaces.settings import SurfaceSettings
from tests.support.lab_clients import KEYS, bearer, chat_body, post
from tests.support.scripted_cluster import ANSWER, ScriptedCluster, Step

pytestmark = pytest.mark.alone

CHAT = "/v1/chat/completions"
NATIVE = "/client/v4/accounts/x/ai/run/lab-llm"


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition; a hang is a failure."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - what is waited for knows no events
            await asyncio.sleep(0.005)


def raw_request(body: bytes, length: int | None = None) -> bytes:
    head = (
        f"POST {CHAT} HTTP/1.1\r\nhost: lab\r\nauthorization: Bearer key-of-a\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body) if length is None else length}\r\n\r\n"
    )
    return head.encode() + body


async def test_cluster_runs_exactly_as_long_as_the_server():
    """Entering starts the cluster and the sockets, leaving ends both."""
    cluster = ScriptedCluster()
    async with LabServer(LabSettings(), cluster=cluster) as server:
        assert cluster.is_running
        assert server.base_url.startswith("http://127.0.0.1:")
        url = server.base_url
    assert not cluster.is_running
    with pytest.raises(httpx.ConnectError):
        await post(url + CHAT, chat_body())


async def test_several_labs_run_side_by_side():
    """Each lab has a port of its own and its own records."""
    async with (
        LabServer(LabSettings(), cluster=ScriptedCluster()) as first,
        LabServer(LabSettings(), cluster=ScriptedCluster()) as second,
    ):
        await post(first.base_url + CHAT, chat_body())
        assert first.base_url != second.base_url
        assert (len(first.records.facts()), len(second.records.facts())) == (1, 0)


async def test_signal_handlers_are_left_alone():
    """A lab inside somebody's process must not take over its signals."""
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    async with LabServer(LabSettings(), cluster=ScriptedCluster()):
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


@pytest.mark.parametrize(
    ("surfaces", "path"),
    [
        (SurfaceSettings(), CHAT),
        (SurfaceSettings(), "/v1/completions"),
        (SurfaceSettings(), NATIVE),
        (SurfaceSettings(ignores_stream=True), NATIVE),
    ],
)
async def test_client_hanging_up_before_the_first_output_aborts_the_generation(surfaces: SurfaceSettings, path: str):
    """A disconnect during prefill, before any header went out, closes the generator."""
    cluster = ScriptedCluster((asyncio.Event(),))
    async with LabServer(LabSettings(keys=KEYS), surfaces, cluster=cluster) as server:
        pending = asyncio.create_task(post(server.base_url + path, chat_body(stream=True, prompt="x")))
        await until(lambda: cluster.requests)
        pending.cancel()
        await until(lambda: cluster.aborted)
        await until(lambda: server.records.facts()[0]["kind"] == "abandoned")


async def test_client_hanging_up_amid_a_stream_aborts_the_generation():
    """A disconnect between tokens closes the generator, and the record says abandoned with its first content."""
    cluster = ScriptedCluster((Chunk(content="red "), asyncio.Event()))
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        async with (
            httpx.AsyncClient(trust_env=False) as client,
            client.stream("POST", server.base_url + CHAT, json=chat_body(stream=True), headers=bearer()) as response,
        ):
            async for line in response.aiter_lines():
                if "red " in line:
                    break
        await until(lambda: cluster.aborted)
        await until(lambda: server.records.facts()[0]["kind"] == "abandoned")
        assert server.records.facts()[0]["first_content"] is not None


async def test_client_hanging_up_amid_the_body_is_abandoned_and_never_asked():
    """Half a body is no request."""
    cluster = ScriptedCluster()
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(raw_request(b'{"messages', length=1000))
        await writer.drain()
        await until(server.records.facts)
        writer.close()
        await writer.wait_closed()
        await until(lambda: server.records.facts()[0]["kind"] == "abandoned")
    assert cluster.requests == []
    assert server.records.facts()[0]["body_received"] is None


async def test_leaving_ends_exchanges_in_flight():
    """Shutdown does not wait for an answer that never comes: the generation is closed, the client sees an end."""
    cluster = ScriptedCluster((Chunk(content="red "), asyncio.Event()))
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        pending = asyncio.create_task(post(server.base_url + CHAT, chat_body(stream=True)))
        await until(lambda: cluster.requests)
        started = time.monotonic()
    assert time.monotonic() - started < 2
    with contextlib.suppress(httpx.HTTPError):
        await pending
    assert cluster.aborted
    assert server.records.facts()[0]["kind"] == "failed"


@pytest.mark.parametrize("script", [(RuntimeError("broken"),), (Chunk(content="x"),)])
async def test_faults_of_the_cluster_are_500_and_recorded(script: tuple[Step, ...]):
    """A crash, or a generation that ends without saying how, is the lab's own failure and never a served answer."""
    async with LabServer(LabSettings(keys=KEYS), cluster=ScriptedCluster(script)) as server:
        response = await post(server.base_url + CHAT, chat_body())
        healthy = await post(server.base_url + CHAT, {})
    assert (response.status_code, response.text) == (500, "Internal Server Error")
    assert healthy.status_code == 400
    assert server.records.facts()[0]["kind"] == "failed"


@pytest.mark.parametrize("script", [(Chunk(content="red "), RuntimeError("broken")), (Chunk(content="red "),)])
async def test_crash_amid_a_stream_breaks_the_connection(script: tuple[Step, ...]):
    """A stream that dies half-way has no terminator."""
    cluster = ScriptedCluster(script)
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        with pytest.raises(httpx.RemoteProtocolError):
            await post(server.base_url + CHAT, chat_body(stream=True))


async def test_busy_lab_refuses_those_who_ask_for_it():
    """`rejectIfBusy` turns waiting into 429 with 3040; everyone else is still served."""
    gate = asyncio.Event()
    cluster = ScriptedCluster((gate, *ANSWER))
    async with LabServer(LabSettings(keys=KEYS), SurfaceSettings(busy_above=1), cluster=cluster) as server:
        pending = asyncio.create_task(post(server.base_url + NATIVE, chat_body()))
        await until(lambda: cluster.requests)
        refused = await post(server.base_url + NATIVE, chat_body(options={"rejectIfBusy": True}))
        flat = await post(server.base_url + CHAT, chat_body(options={"rejectIfBusy": True}))
        gate.set()
        served = await pending
        alone = await post(server.base_url + NATIVE, chat_body(options={"rejectIfBusy": True}))
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (429, 3040)
    assert (flat.status_code, flat.json()["code"]) == (503, 503)
    assert (served.status_code, alone.status_code) == (200, 200)
    assert [record["kind"] for record in server.records.facts()] == ["served", "busy", "busy", "served"]


async def test_recorded_marks_lie_within_what_the_client_saw():
    """The record's marks are on the client's own clock: body after sending began, content before it was read."""
    cluster = ScriptedCluster((0.05, *ANSWER))
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        sent = time.monotonic()
        async with (
            httpx.AsyncClient(trust_env=False) as client,
            client.stream("POST", server.base_url + CHAT, json=chat_body(stream=True), headers=bearer()) as response,
        ):
            seen = None
            async for line in response.aiter_lines():
                if seen is None and "let me" in line:
                    seen = time.monotonic()
        await until(lambda: server.records.facts()[0]["kind"] == "served")
        [record] = server.records.facts()
    assert seen is not None
    assert sent < record["headers_received"] <= record["body_received"]
    assert record["body_received"] + 0.05 <= record["first_content"] <= seen


async def test_flood_of_bytes_far_above_the_limit_is_cut_off():
    """Beyond a multiple of the limit the lab stops reading and answers."""
    surfaces = SurfaceSettings(max_body_bytes=10_000)
    async with LabServer(LabSettings(keys=KEYS), surfaces, cluster=ScriptedCluster()) as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(raw_request(b"x" * 200_000, length=10**9))
        async with asyncio.timeout(5):
            status = await reader.readline()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    assert status == b"HTTP/1.1 413 Request Entity Too Large\r\n"


def test_lab_refuses_other_addresses_unless_told():
    """A lab with planted leaks must not face a network by accident."""
    with pytest.raises(LabError, match="only when remote access is allowed"):
        LabServer(LabSettings(), host="0.0.0.0", cluster=ScriptedCluster())


async def test_lab_binds_everywhere_when_told():
    """`allow_remote` is the deliberate exception."""
    async with LabServer(LabSettings(), host="0.0.0.0", allow_remote=True, cluster=ScriptedCluster()) as server:
        assert server.base_url.startswith("http://0.0.0.0:")


async def test_lab_serves_on_ipv6():
    """The URL of an IPv6 lab is usable as it stands; a machine without IPv6 is told so."""
    if not _has_ipv6():
        with pytest.raises(LabError, match="cannot bind ::1"):
            await LabServer(LabSettings(), host="::1", cluster=ScriptedCluster()).__aenter__()
        return
    async with LabServer(LabSettings(), host="::1", cluster=ScriptedCluster()) as server:
        response = await post(server.base_url + CHAT, chat_body())
    assert response.status_code == 200


async def test_port_in_use_is_a_lab_error():
    """The message names the address, and the cluster was never started."""
    cluster = ScriptedCluster()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LabError, match=f"cannot bind 127.0.0.1:{port}"):
            await LabServer(LabSettings(), port=port, cluster=cluster).__aenter__()
    assert not cluster.is_running


async def test_cluster_that_cannot_start_leaves_no_socket():
    """A failed start-up frees the port and raises the cluster's own error."""

    class Unstartable(ScriptedCluster):
        async def start(self) -> None:
            raise LabError("no memory")

    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(LabError, match="no memory"):
        await LabServer(LabSettings(), port=port, cluster=Unstartable()).__aenter__()
    socket.create_server(("127.0.0.1", port)).close()


async def test_server_that_cannot_start_stops_its_cluster(monkeypatch: pytest.MonkeyPatch):
    """A start-up that fails after the cluster's raises its reason and leaves nothing running."""

    async def refuse(_self: uvicorn.Server, sockets: object = None) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(uvicorn.Server, "startup", refuse)
    cluster = ScriptedCluster()
    with pytest.raises(OSError, match="Too many open files"):
        await LabServer(LabSettings(), cluster=cluster).__aenter__()
    assert not cluster.is_running


async def test_only_a_hang_up_counts_as_one():
    """What a server may still deliver of the body is no disconnect."""
    messages = iter([{"type": "http.request"}, {"type": "http.disconnect"}])

    async def receive() -> dict[str, str]:
        return next(messages)

    await disconnected(receive)
    assert list(messages) == []


@pytest.mark.parametrize("name", ["max_body_bytes", "busy_above", "record_capacity"])
def test_surfaces_that_could_serve_nothing_are_refused(name: str):
    """A limit of zero is a mistake, not a setting."""
    with pytest.raises(ValueError, match="must be at least 1"):
        SurfaceSettings(**{name: 0})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_served_lab_prints_where_it_is_and_ends_cleanly_on_signals(number: signal.Signals):
    """The parent process reads one JSON line; a stop signal ends the lab with exit code 0."""
    code = (
        "import asyncio\n"
        "from prober.lab.server import serve\n"
        "from prober.lab.settings import LabSettings\n"
        "asyncio.run(serve(LabSettings(), '127.0.0.1', 0))\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            ready = json.loads(await process.stdout.readline())
            response = await post(ready["url"] + CHAT, chat_body())
            process.send_signal(number)
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert ready["pid"] == process.pid
    assert response.status_code == 200
    assert response.json()["usage"]["prompt_tokens"] > 0


@pytest.mark.parametrize(
    ("header", "tenant"),
    [
        ("Bearer key-of-a", "tenant-a"),
        ("bearer  key-of-b ", "tenant-b"),
        ("Basic key-of-a", None),
        ("key-of-a", None),
        ("Bearer key-of", None),
        ("Bearer \udcff", None),
        ("", None),
        (None, None),
    ],
)
def test_keys_tell_tenants(header: str | None, tenant: str | None):
    """A whole key in a bearer header names its tenant, everything else names nobody."""
    assert ApiKeys(KEYS).tenant(header) == tenant


def test_lab_without_keys_is_open():
    """No key configured means no authentication, as at a server started without a key."""
    assert ApiKeys({}).tenant(None) == ANONYMOUS


def test_keys_never_show():
    """Neither the keys' object nor the settings print a key."""
    shown = repr(vars(ApiKeys(KEYS))) + repr(LabSettings(keys=KEYS))
    assert "key-of-a" not in shown


def test_records_keep_the_newest():
    """The ring forgets the oldest and never grows."""
    clock = iter(range(100))
    records = Records(capacity=2, clock=lambda: float(next(clock)))
    for name in ("one", "two", "three"):
        records.open("s", name * 100, name)
    assert [str(record["request_id"])[:3] for record in records.facts()] == ["two", "thr"]
    assert all(len(str(record["request_id"])) == 128 for record in records.facts())


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True
