"""What comes back may be real customers' text, and what is configured is secret: neither may be found anywhere."""

import base64
import dataclasses
import functools
import json
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from prober.config.schema import Settings
from prober.detect.detectors import DETECTORS
from prober.domain.campaign import Trigger
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding
from prober.telemetry.logs import Log
from prober.wiring.campaigns import campaign_of, read_settings
from prober.wiring.prober import endpoint_of, open_prober
from tests.support.command import CREDENTIALS, Finished, Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import DONE, SSE_HEAD, Peer, delta, hostile, response, sse

CUSTOMER = 'Dear Ms "Ärzte" Mustermann-Huber, your IBAN is DE89 3704 0044 0532 0130 00\nand the diagnosis: Lupus.'
"""Stands for another customer's prompt; holds what JSON has to escape."""

MARK = "DE89 3704 0044 0532 0130 00"
"""A part of it that no escaping changes."""

HEADER_SECRET = "edge-header-secret-77aa88bb"
PROXY_PASSWORD = "proxy-password-5f5f6e6e"
BODY_SECRET = "body-field-secret-c0ffee42"

CALIBRATION_PROBES = 8

SECRETS = {
    "customer": CUSTOMER,
    "customer-mark": MARK,
    "customer-word": "Mustermann",
    "alpha": CREDENTIALS["ALPHA_KEY"],
    "bravo": CREDENTIALS["BRAVO_KEY"],
    "header": HEADER_SECRET,
    "body": BODY_SECRET,
}


_BETWEEN = re.compile(rb"[^A-Za-z0-9]+")


def spellings(secret: str) -> Iterator[bytes]:
    """A secret as it may stand in a file: cased, escaped, quoted, in hexadecimal, in base64 at any alignment."""
    escaped = json.dumps(secret)[1:-1]
    for text in (secret, escaped, json.dumps(escaped)[1:-1], repr(secret)[1:-1], urllib.parse.quote(secret)):
        for cased in (text, text.upper(), text.lower()):
            raw = cased.encode()
            yield raw
            yield raw.hex().encode()
            yield raw.hex().upper().encode()
            for offset in range(3):
                whole = base64.b64encode(b"\0" * offset + raw)
                # Characters at the ends depend on neighbouring bytes.
                yield whole[4 if offset else 0 : -4]
    yield secret.encode("utf-16-le")
    yield secret[::-1].encode()


def leaks(places: Mapping[str, bytes], secrets: Mapping[str, str] = SECRETS) -> set[tuple[str, str]]:
    """Which secrets stand in which places, in any spelling, or with all but letters and digits dropped."""
    found = {
        (place, name)
        for name, secret in secrets.items()
        for spelling in set(spellings(secret))
        for place, content in places.items()
        if spelling in content
    }
    bare = {place: _BETWEEN.sub(b"", content).lower() for place, content in places.items()}
    return found | {
        (place, name)
        for name, secret in secrets.items()
        for place, content in bare.items()
        if _BETWEEN.sub(b"", secret.encode()).lower() in content
    }


def streamed(**fields: object) -> bytes:
    """A whole stream of one chunk with these top-level fields."""
    chunk = {"id": "c1", "model": "llm", "choices": [{"index": 0, "delta": {"content": "ok"}}], **fields}
    return SSE_HEAD + sse(chunk) + DONE


def choice(finish_reason: object = None, **fields: object) -> list[dict[str, object]]:
    return [{"index": 0, "delta": fields, "finish_reason": finish_reason}]


def pieces(text: str, size: int = 7) -> bytes:
    return b"".join(delta(text[start : start + size]) for start in range(0, len(text), size))


def error(status: str, body: object, extra: str = "") -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return response(status, raw, extra=extra)


FLAT = " ".join(CUSTOMER.replace("Ä", "Ae").split())
"""As a header can carry it."""

TOOL = {"index": 0, "function": {"name": CUSTOMER, "arguments": json.dumps({"to": CUSTOMER})}}
KEY = CREDENTIALS["ALPHA_KEY"]

REPLIES: dict[str, bytes] = {
    "content": SSE_HEAD + delta(CUSTOMER) + DONE,
    "split": SSE_HEAD + pieces(CUSTOMER) + DONE,
    "upper": SSE_HEAD + delta(CUSTOMER.upper()) + DONE,
    "base64": SSE_HEAD + delta(base64.b64encode(CUSTOMER.encode()).decode()) + DONE,
    "escaped": SSE_HEAD + delta(json.dumps(json.dumps(CUSTOMER))) + DONE,
    "reasoning": streamed(choices=choice(reasoning_content=CUSTOMER)),
    "tool": streamed(choices=choice("tool_calls", tool_calls=[TOOL])),
    "finish-reason": streamed(choices=choice(CUSTOMER, content="ok")),
    "finish-object": streamed(choices=choice({"type": CUSTOMER, "message": CUSTOMER}, content="ok")),
    "id": streamed(id=CUSTOMER),
    "model": streamed(model=CUSTOMER),
    "usage": streamed(usage={"prompt_tokens": CUSTOMER, CUSTOMER: 1, "completion_tokens": {"text": CUSTOMER}}),
    "unknown-field": streamed(customer=CUSTOMER),
    "echoed-key": streamed(id=KEY, model=f"llm-{KEY}", choices=choice(KEY, content=f"Bearer {KEY}")),
    "no-json": SSE_HEAD + b"data: " + CUSTOMER.encode() + b"\n\n" + DONE,
    "broken-off": SSE_HEAD + delta(CUSTOMER) + b'data: {"choices": [{"delta": {"content": "' + CUSTOMER.encode(),
    "comment": SSE_HEAD + b": " + MARK.encode() + b"\n\nevent: " + MARK.encode() + b"\ndata: {}\n\n" + DONE,
    "error-frame": SSE_HEAD + sse({"error": {"message": CUSTOMER, "code": CUSTOMER, "type": CUSTOMER}}) + DONE,
    "error-400": error("400 Bad Request", {"error": {"message": CUSTOMER, "code": CUSTOMER, "param": CUSTOMER}}),
    "error-overlong": error(
        "400 Bad Request", {"error": {"message": f"maximum context length is 512 tokens, but {CUSTOMER}"}}
    ),
    "error-401": error("401 Unauthorized", {"error": {"message": f"Incorrect API key {KEY}", "code": KEY}}),
    "error-500": error("500 Internal Server Error", f"Traceback: {CUSTOMER}".encode()),
    "error-422": error("422 Unprocessable Entity", {"detail": [{"msg": CUSTOMER, "input": CUSTOMER}]}),
    "headers": error(
        "200 OK",
        b"{}",
        extra=f"X-Request-Id: {FLAT}\r\nServer: {FLAT}\r\nCF-Ray: {KEY}\r\nX-LiteLLM-Model-Id: {FLAT}\r\n"
        f"Retry-After: {FLAT}\r\nX-Customer: {FLAT}\r\nSet-Cookie: {FLAT}\r\n",
    ),
    "content-type": response("200 OK", b"{}", content_type=f"text/html; owner={MARK}"),
    "status-line": b"HTTP/1.1 500 " + MARK.encode() + b"\r\nContent-Length: 0\r\n\r\n",
    "no-http": MARK.encode() + b"\r\n\r\n",
    "bad-header": b"HTTP/1.1 200 OK\r\n" + MARK.encode() + b"\r\n\r\n",
    "redirect": response("302 Found", b"", extra=f"Location: https://example.invalid/{KEY}\r\n"),
    "compressed": response("200 OK", CUSTOMER.encode(), extra="Content-Encoding: gzip\r\n"),
}


@dataclasses.dataclass
class TalkativeLlm:
    """Calibrates honestly, then puts one reply after the other in front of the checks."""

    reply: bytes
    folder: Path
    llm: FakeLlm = dataclasses.field(default_factory=FakeLlm)
    said: int = 0
    database: bytes = b""
    """The database's files as they were while the run went on: the log that is not yet merged holds the newest rows."""

    async def __call__(self, peer: Peer) -> None:
        self.database += b"".join(path.read_bytes() for path in self.folder.glob("prober.db-wal"))
        if len(self.llm.prompts) < CALIBRATION_PROBES:
            await self.llm.handler()(peer)
        else:
            await peer.read_request()
            await peer.send(self.reply)
            self.said += 1


def configured(place: Workplace, port: int, **target: object) -> Workplace:
    return place.configure(
        f"http://127.0.0.1:{port}/v1",
        scenarios=["baseline"],
        headers={"X-Edge": "${HEADER_SECRET}"},
        body={"user": "${BODY_SECRET}"},
        **target,
    )


ENVIRONMENT = {"HEADER_SECRET": HEADER_SECRET, "BODY_SECRET": BODY_SECRET, "PROXY_PASSWORD": PROXY_PASSWORD}


async def perform(place: Workplace, port: int) -> Finished:
    """Run with everything switched on that can tell something."""
    configured(place, port)
    report, metrics = str(place.folder / "report.json"), str(place.folder / "metrics.prom")
    arguments = ("run", "--json", report, "--metrics", metrics, "--log-level", "debug", "--log-format", "json")
    return await place.invoke_beside(*arguments, environment=ENVIRONMENT)


def written(place: Workplace, *finished: Finished) -> dict[str, bytes]:
    """Everything a run leaves behind."""
    files = {path.name: path.read_bytes() for path in place.folder.iterdir() if path != place.config}
    channels = {
        f"{name} {number}": text.encode()
        for number, end in enumerate(finished)
        for name, text in (("stdout", end.stdout), ("stderr", end.stderr))
    }
    return files | channels


@pytest.mark.parametrize("name", REPLIES)
async def test_no_word_of_an_answer_and_no_credential_is_written_anywhere(name: str, place: Workplace):
    """Console, logs, report, metrics and the database's raw bytes hold no planted secret in any spelling."""
    llm = TalkativeLlm(REPLIES[name], place.folder)
    async with hostile(llm) as server:
        finished = await perform(place, server.port)
    shown = await place.invoke_beside("findings", "list", "--worse-than", "clean", environment=ENVIRONMENT)

    assert llm.said
    assert finished.code in {1, 3}, finished.said
    assert shown.code == 0
    places = written(place, finished, shown) | {"write-ahead log": llm.database}
    assert len(llm.database) > 1_000
    assert {"report.json", "metrics.prom", "prober.db"} <= places.keys()
    assert b"probe_judged" in places["stderr 0"]
    assert leaks(places) == set()


def detect_with_a_bug(text: str, evidence: Evidence) -> tuple[Finding, ...]:
    """Crash with the text in the exception, as a careless detector would."""
    raise ValueError(f"cannot judge {text!r} of {evidence!r}")


async def test_an_internal_error_tells_no_secret(monkeypatch: pytest.MonkeyPatch, place: Workplace):
    """A crashing detector and a crashing run are told by class and line; their messages, which quote, are not."""
    broken = functools.wraps(detect_with_a_bug)(functools.partial(detect_with_a_bug, CUSTOMER))
    monkeypatch.setattr("prober.runner.reception.DETECTORS", (*DETECTORS, broken))
    llm = FakeLlm()
    async with hostile(llm.handler()) as server:
        crashed = await perform(place, server.port)

        def careless(*_arguments: object) -> object:
            raise RuntimeError(f"{CUSTOMER} {KEY}")

        monkeypatch.setattr("prober.runner.reception.classify", careless)
        failed = await perform(place, server.port)

    assert crashed.code == 3
    assert "detector_crashed" in crashed.said
    assert failed.code == 4
    assert "internal error" in failed.stderr
    assert "RuntimeError" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert leaks(written(place, crashed, failed)) == set()


async def test_the_search_itself_finds_what_is_there(place: Workplace):
    """The tests above can fail: a planted secret is found in every spelling that they look for."""
    for spelling in set(spellings(MARK)):
        assert leaks({"here": b"..." + spelling + b"..."}, {"mark": MARK}) == {("here", "mark")}
    assert leaks({"here": base64.b64encode(b"12345 " + KEY.encode() + b" 123")}) == {("here", "alpha")}
    assert leaks({"here": CUSTOMER.upper().encode()}) >= {("here", "customer")}


Reveal = Callable[[object], str]


@pytest.mark.parametrize("reveal", [repr, str, "{}".format, lambda value: f"{value!r:.100000}"])
async def test_no_object_of_a_run_shows_a_secret(reveal: Reveal, place: Workplace, quiet_log: Log):
    """Settings, endpoint, prober, report and judgements can be printed by anyone, into anything."""
    judgements = []
    llm = TalkativeLlm(REPLIES["content"], place.folder)
    async with hostile(llm) as server:
        configured(place, server.port, proxy=None)
        settings = settings_of(place)
        async with open_prober(settings, log=quiet_log) as prober:
            monkeyed = dataclasses.replace(prober, telemetry=Keeper(judgements))
            campaign = campaign_of(settings, "hostile")
            endpoint = endpoint_of(settings, campaign)
            report = await monkeyed.run(campaign, Trigger.MANUAL)
            shown = {
                type(value).__name__: reveal(value).encode()
                for value in (settings, settings.targets, endpoint, prober, prober.keyring, prober.live, report)
            }
            shown["judgements"] = reveal(judgements).encode()
            shown["attributes"] = reveal([vars(endpoint).get("_blinds"), vars(endpoint).get("_settings")]).encode()
            key = json.loads((place.folder / "canary.key").read_text())
            await endpoint.close()

    assert judgements
    assert leaks(shown) == set()
    assert leaks(shown, {"canary key": secret_of(key)}) == set()


async def test_a_proxy_s_password_and_the_database_s_are_shown_by_nothing(place: Workplace):
    """URLs that hold a password are secrets as a whole: `validate --show` and `repr` mask them."""
    configured(place, 9, proxy="http://user:${PROXY_PASSWORD}@127.0.0.1:9")
    shown = await place.invoke_beside("validate", "--show", environment=ENVIRONMENT)
    ran = await perform_as_configured(place)

    assert shown.code == 0
    assert "alpha" in shown.stdout
    assert ran.code == 3
    places = written(place, shown, ran) | {"settings": repr(settings_of(place)).encode()}
    assert leaks(places, SECRETS | {"proxy": PROXY_PASSWORD}) == set()


async def perform_as_configured(place: Workplace) -> Finished:
    return await place.invoke_beside("run", "--log-level", "debug", environment=ENVIRONMENT)


def settings_of(place: Workplace) -> Settings:
    return read_settings(place.config, {**CREDENTIALS, **ENVIRONMENT}).settings


def secret_of(key_file: object) -> str:
    """Longest string in a key file."""
    if isinstance(key_file, dict):
        return max(map(secret_of, key_file.values()), key=len)
    if isinstance(key_file, list):
        return max(map(secret_of, key_file), key=len)
    return str(key_file)


class Keeper:
    """Telemetry that keeps judgements."""

    def __init__(self, judgements: list) -> None:
        self.judgements = judgements

    def run_started(self, *_arguments: object) -> None: ...

    def budget_short(self, *_arguments: object) -> None: ...

    def wave_started(self, *_arguments: object) -> None: ...

    def probe_judged(self, _run: object, judgement: object, _spent: object) -> None:
        self.judgements.append(judgement)

    def run_ended(self, *_arguments: object) -> None: ...

    def internal_error(self, *_arguments: object) -> None: ...
