"""`prober run` against endpoints that fail in every known way: the right answer, reason, exit code, and plain words."""

import asyncio
import dataclasses
import json
import ssl
from pathlib import Path

import psutil
import pytest
import trustme

from tests.support.command import Finished, Workplace, finish
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import DONE, SSE_HEAD, Handler, Peer, answering, delta, hostile, response, sse, stalling
from tests.support.hostile import finish as finish_chunk
from tests.support.hostile import usage as usage_chunk

pytestmark = pytest.mark.alone


def endless(chunk: bytes, pause: float = 0.0) -> Handler:
    """Stream the chunk until the client hangs up."""

    async def handler(peer: Peer) -> None:
        await peer.read_request()
        await peer.send(SSE_HEAD)
        while True:
            await peer.send(chunk)
            await asyncio.sleep(pause)

    return handler


async def rude(peer: Peer) -> None:
    """Read the request, then reset the connection."""
    await peer.read_request()
    peer.reset()


@dataclasses.dataclass(frozen=True)
class Case:
    """A way to fail, and what must be said of it."""

    name: str
    handler: Handler
    answer: str
    reason: str
    words: str
    """Must stand in the console output."""
    requests: int = 1


CASES = [
    Case(
        "revoked-key",
        answering(response("401 Unauthorized", b'{"error": {"message": "bad key", "code": "invalid_api_key"}}')),
        "unauthorised",
        "unauthorised",
        "The credential was refused (HTTP 401)",
    ),
    Case(
        "forbidden",
        answering(response("403 Forbidden", b"no", "text/plain")),
        "unauthorised",
        "unauthorised",
        "The credential was refused (HTTP 403)",
    ),
    Case(
        "wrong-path",
        answering(response("404 Not Found", b'{"detail": "Not Found"}')),
        "not_found",
        "not_found",
        "no such route or LLM (HTTP 404)",
    ),
    Case(
        "rate-limited",
        answering(
            response("429 Too Many Requests", b'{"error": {"message": "slow down"}}', extra="Retry-After: 9\r\n")
        ),
        "busy",
        "busy",
        "limits the rate (HTTP 429)",
    ),
    Case(
        "server-error",
        answering(response("500 Internal Server Error", b"Traceback", "text/plain")),
        "server_error",
        "server_error",
        "The target failed (HTTP 500)",
    ),
    Case("never-answers", stalling(), "hang", "hang", "no answer began within 0.5 s"),
    Case("stands-still", stalling(SSE_HEAD, delta("so far")), "hang", "hang", "the answer stood still for 0.5 s"),
    Case(
        "streams-for-ever",
        endless(delta("word "), 0.01),
        "hang",
        "hang",
        "the whole answer took longer than 1.5 s",
    ),
    Case(
        "a-gigabyte",
        endless(delta("x" * 60_000)),
        "malformed",
        "malformed",
        "the answer passed 4194304 bytes",
    ),
    Case("resets", rude, "malformed", "malformed", "the peer closed the connection without an answer"),
    Case(
        "closes-within-a-frame",
        answering(SSE_HEAD, b'data: {"choices": [{"delta": {"con'),
        "malformed",
        "malformed",
        "The exchange broke off or was malformed",
    ),
    Case(
        "closes-within-the-answer",
        answering(SSE_HEAD, delta("so far "), b'data: {"choices": [{"delta": {"con'),
        "served_full",
        "malformed",
        "ended without its end mark",
    ),
    Case("no-http", answering(b"SSH-2.0-OpenSSH_9.6\r\n"), "malformed", "malformed", "broke off or was malformed"),
    Case(
        "a-web-page",
        answering(response("200 OK", b"<html>Welcome</html>", "text/html")),
        "malformed",
        "malformed",
        "broke off or was malformed",
    ),
    Case(
        "counts-nothing",
        answering(SSE_HEAD, delta("hello"), finish_chunk(), DONE),
        "served_full",
        "usage_missing",
        "reports no prompt tokens",
    ),
    Case(
        "counts-nonsense",
        answering(SSE_HEAD, delta("hello"), finish_chunk(), usage_chunk(5, 1), DONE),
        "served_full",
        "calibration_failed",
        "do not add up",
        requests=8,
    ),
    Case(
        "fails-within-the-stream",
        answering(SSE_HEAD, sse({"error": {"message": "boom", "code": 500}}), DONE),
        "server_error",
        "server_error",
        "The target failed",
    ),
]


async def run_against(place: Workplace, url: str, **target: object) -> tuple[Finished, dict]:
    place.configure(url, hang_seconds=0.5, deadline_seconds=1.5, **target)
    report = place.folder / "report.json"
    finished = await asyncio.wait_for(place.invoke_beside("run", "--json", str(report)), 30)
    return finished, json.loads(report.read_text(encoding="utf-8"))


def assert_told(place: Workplace, finished: Finished, report: dict, case: Case) -> None:
    """Everything that a user, a pipeline and the ledger must learn of it."""
    assert finished.code == 3
    assert "Traceback" not in finished.said
    assert case.words in finished.said
    headline = next(line for line in finished.stdout.splitlines() if line.startswith(" INCONCLUSIVE"))
    assert case.reason in headline
    assert report["verdict"]["outcome"] == "inconclusive"
    assert case.reason in report["verdict"]["reasons"]
    assert [probe["answer"] for probe in report["probes"]] == [case.answer] * case.requests
    assert place.answers() == [case.answer] * case.requests
    ((outcome, reasons, ended_at),) = place.run_rows()
    assert outcome == "inconclusive"
    assert case.reason in reasons
    assert ended_at is not None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_failing_target_is_told_plainly_and_left_alone(case: Case, place: Workplace):
    """Exit code 3, the cause in headline and report, every probe in the ledger, and no request more than it takes."""
    async with hostile(case.handler) as server:
        finished, report = await run_against(place, f"http://127.0.0.1:{server.port}/v1")
        assert server.connections == case.requests

    assert_told(place, finished, report, case)


async def test_a_wrong_path_is_not_found_on_a_healthy_server(place: Workplace):
    """A base URL without its `/v1` meets a server that works, and is told as what it is."""

    async def strict(peer: Peer) -> None:
        await peer.read_request()
        assert peer.call.path != "/v1/chat/completions"
        await peer.send(response("404 Not Found", b'{"detail": "Not Found"}'))

    async with hostile(strict) as server:
        finished, _ = await run_against(place, f"http://127.0.0.1:{server.port}")

    assert finished.code == 3
    assert "no such route or LLM (HTTP 404)" in finished.said


async def test_a_port_where_nobody_listens_is_unreachable(place: Workplace):
    """A refused connection is told as such."""
    async with hostile(stalling()) as server:
        port = server.port
    case = Case("refused", rude, "unreachable", "unreachable", "The target could not be reached (no connection")
    finished, report = await run_against(place, f"http://127.0.0.1:{port}/v1")

    assert_told(place, finished, report, case)


async def test_a_host_that_does_not_resolve_is_unreachable(place: Workplace):
    """A misspelt host name is told as such (RFC 2606: `.invalid` never resolves)."""
    case = Case("dns", rude, "unreachable", "unreachable", "the host name does not resolve")
    finished, report = await run_against(place, "https://no-such-host.invalid/v1")

    assert_told(place, finished, report, case)


def tls_server(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


async def test_an_untrusted_certificate_is_unreachable_and_no_credential_crosses(place: Workplace):
    """TLS that does not verify ends before a byte of ours is sent, and says what is wrong with the certificate."""
    case = Case("tls", rude, "unreachable", "unreachable", "certificate")
    async with hostile(stalling(), tls=tls_server(trustme.CA(), "127.0.0.1")) as server:
        finished, report = await run_against(place, f"https://127.0.0.1:{server.port}/v1")
        assert all(not call.headers for call in server.calls)

    assert_told(place, finished, report, case)


async def test_a_certificate_for_another_host_is_unreachable(place: Workplace, tmp_path: Path):
    """A trusted authority does not help where the name is wrong."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    case = Case("tls", rude, "unreachable", "unreachable", "the certificate is for another address")
    async with hostile(stalling(), tls=tls_server(authority, "10.9.8.7")) as server:
        url = f"https://127.0.0.1:{server.port}/v1"
        finished, report = await run_against(place, url, ca_file=str(tmp_path / "ca.pem"))

    assert_told(place, finished, report, case)


async def test_a_target_that_fails_after_calibration_is_left_alone_soon(place: Workplace):
    """A target that stops answering is given up after three probes per scenario, and is never green."""
    llm = FakeLlm()
    honest = llm.handler()

    async def dying(peer: Peer) -> None:
        if len(llm.prompts) < 8:
            await honest(peer)
        else:
            await peer.read_request()
            await peer.send(response("503 Service Unavailable", b'{"error": {"message": "overloaded"}}'))

    async with hostile(dying) as server:
        finished, report = await run_against(place, f"http://127.0.0.1:{server.port}/v1", scenarios=["baseline"])
        assert 8 < server.connections <= 8 + 3

    assert finished.code == 3
    assert report["verdict"]["reasons"][0] == "busy"
    assert place.answers()[8:] == ["busy"] * (server.connections - 8)


async def test_a_gigabyte_costs_little_memory(place: Workplace):
    """A peer that sends without end costs at most 64 MiB over a run that is refused at once.

    4 MiB of answer are read at most; decoding, joining and reading them hold several copies for a moment.
    """
    peaks = []
    for handler in (CASES[0].handler, endless(delta("x" * 60_000))):
        async with hostile(handler) as server:
            place.configure(f"http://127.0.0.1:{server.port}/v1")
            peaks.append(await peak_memory(place))
            assert server.connections == 1

    assert peaks[1] - peaks[0] < 64 << 20


async def peak_memory(place: Workplace) -> int:
    """Largest resident size of a `prober run` of its own, in bytes."""
    process = await place.spawn("run")
    seen = psutil.Process(process.pid)
    peak = 0
    ending = asyncio.create_task(finish(process))
    while not ending.done():
        try:
            peak = max(peak, seen.memory_info().rss)
        except psutil.NoSuchProcess:
            break
        await asyncio.sleep(0.005)
    assert (await ending).code == 3
    return peak


@pytest.mark.parametrize("length", [1_000, 100_000, 1 << 20])
async def test_names_of_a_megabyte_are_stored_bounded(length: int, place: Workplace):
    """What a peer calls itself, its answers and its reasons fills no database and no report, however long it is."""
    huge = "m" * length
    chunk = sse(
        {"id": huge, "model": huge, "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": huge}]}
    )
    head = SSE_HEAD.replace(b"Connection", f"X-Request-Id: {'r' * 30_000}\r\nConnection".encode())
    async with hostile(answering(head, chunk, usage_chunk(300, 1), DONE)) as server:
        finished, _ = await run_against(place, f"http://127.0.0.1:{server.port}/v1")

    assert finished.code == 3
    rows = place.rows("SELECT response_id, model_reported, finish_reason, evidence_headers FROM observations")
    assert rows
    for response_id, model, reason, headers in rows:
        labels = [label for label in (response_id, model, reason) if label is not None]
        # Beyond the bound of one event the whole frame counts as unreadable, and its names are not taken at all.
        assert len(labels) == 3 or (length == 1 << 20 and not labels)
        assert all(label.startswith("sha256:") and len(label) <= 200 for label in labels)
        assert len(headers) <= 2_000
    stored = sum(path.stat().st_size for path in place.folder.glob("prober.db*"))
    assert stored < 1 << 20
    assert (place.folder / "report.json").stat().st_size < 1 << 16
