"""What the always-on service catches, holds and is asked: no secret of it stands in anything that it says or writes."""

import dataclasses
import json
import signal
from collections.abc import AsyncIterator, Mapping

import httpx
import pytest

from prober.report.formats import FORMATS
from tests.support.command import Workplace
from tests.support.hostile import Peer, hostile, response
from tests.support.receiving import until
from tests.support.replicas import ReplicaProcess, replica, serving
from tests.system.test_secrecy import CUSTOMER, FLAT, MARK, SECRETS, leaks, secret_of
from tests.system.test_vault_secrecy import LeakingLlm, tables

pytestmark = pytest.mark.slow

SIGNING = "signing-secret-44dd55ee66ff"
HOOK = "hook-path-secret-00aa11bb22"
HOOK_PASSWORD = "hook-password-33cc44dd55"
WRONG_TOKEN = "iprb_wrongwrongwrong12_" + "q" * 52
ASKED = "asked-by-mistake-secret-5577"
RELOADED = "reloaded-secret-9911aa22bb"
DATABASE_PASSWORD = "database-password-7788ffee"

OUR_SECRETS = {
    "signing": SIGNING,
    "hook": HOOK,
    "hook password": HOOK_PASSWORD,
    "wrong token": WRONG_TOKEN,
    "asked": ASKED,
    "reloaded": RELOADED,
    "database": DATABASE_PASSWORD,
}


SAID = 7
"""Requests after which a receiver has given each of its answers, and has taken what it was told."""


@dataclasses.dataclass
class Eavesdropper:
    """A receiver that says back what it was sent and what it never was, in each part of an answer in turn."""

    requests: list[bytes] = dataclasses.field(default_factory=list)

    async def __call__(self, peer: Peer) -> None:
        await peer.read_request()
        self.requests.append(peer.call.body)
        said = f"{CUSTOMER} {SIGNING} {peer.call.path}".encode()
        flat = f"{FLAT} {SIGNING} {HOOK}"
        answers = (
            response("500 Failed", said, extra=f"X-Request-Id: {flat}\r\nRetry-After: {flat}\r\n"),
            f"HTTP/1.1 503 {flat}\r\nContent-Length: 0\r\n\r\n".encode(),
            flat.encode() + b"\r\n\r\n",
            response("302 Found", said, extra=f"Location: http://127.0.0.1:9/{HOOK}\r\nRetry-After: 0\r\n"),
            response("200 OK", said),
        )
        await peer.send(answers[min(len(self.requests), len(answers)) - 1])


@pytest.fixture
async def eavesdropper() -> AsyncIterator[tuple[Eavesdropper, int]]:
    receiver = Eavesdropper()
    async with hostile(receiver) as server:
        yield receiver, server.port


def configured(place: Workplace, llm: int, receiver: int) -> None:
    """A vault key, a schedule, receivers whose addresses hold secrets."""
    assert place.invoke("vault", "key", "new", str(place.folder / "vault.key")).code == 0
    top = {
        "vault": {"key_file": "vault.key"},
        "schedules": {"often": {"every_seconds": 2, "stagger_seconds": 0}},
        "notifications": {
            "hook": {
                "kind": "webhook",
                "url": f"http://user:{HOOK_PASSWORD}@127.0.0.1:{receiver}/{HOOK}?key={HOOK}",
                "secret": SIGNING,
            },
            "chat": {"kind": "slack", "url": f"http://127.0.0.1:{receiver}/services/{HOOK}"},
        },
    }
    serving(place, f"http://127.0.0.1:{llm}/v1", top=top)


GOOD = (
    "/metrics",
    "/healthz",
    "/readyz",
    "/api/v1/runs",
    "/api/v1/findings",
    "/api/v1/findings/{number}",
    "/api/v1/issues",
    "/api/v1/issues/1",
    "/api/v1/targets",
    "/api/v1/coverage",
    "/api/v1/schedules",
)
BAD = (
    f"/api/v1/runs?{ASKED}={ASKED}",
    f"/api/v1/findings?target={ASKED}&before={ASKED}",
    f"/{ASKED}",
    f"/api/v1/runs/{ASKED}",
    f"/api/v1/vault/1?reason={ASKED}",
)
BODIES: tuple[tuple[str, object], ...] = (
    ("/api/v1/runs", {"target": ASKED, "trigger": ASKED, ASKED: ASKED}),
    ("/api/v1/runs", {"target": "hostile", "rollout": {ASKED: {ASKED: ASKED}}}),
    ("/api/v1/issues/1/suppress", {"until": ASKED, "note": 7}),
)


async def asked(address: str, token: str, number: int) -> dict[str, bytes]:
    """Routes that show no foreign text, asked rightly and wrongly: headers and bodies."""
    right = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=address) as client:
        good = [await client.get(path.format(number=number), headers=right) for path in GOOD]
        bad = [await client.get(path, headers=right) for path in BAD]
        bad += [await client.post(path, headers=right, json=body) for path, body in BODIES]
        for scheme in ("Bearer", "Basic"):
            bad.append(await client.get("/api/v1/runs", headers={"Authorization": f"{scheme} {WRONG_TOKEN}"}))
    assert {answer.status_code for answer in good} == {200}
    assert {answer.status_code for answer in bad} == {401, 403, 404, 422}
    return {
        f"answer {index}, {answer.status_code}": repr(answer.headers).encode() + answer.content
        for index, answer in enumerate(good + bad)
    }


async def read(address: str, token: str, number: int) -> str:
    """Foreign text, by the one route that shows it."""
    async with httpx.AsyncClient(base_url=address, headers={"Authorization": f"Bearer {token}"}) as client:
        return (await client.get(f"/api/v1/vault/{number}", params={"reason": "whose is it?"})).text


PAGES = (
    "/",
    "/login",
    "/runs",
    "/runs/{run_id}",
    "/runs/{run_id}/progress",
    "/targets/hostile",
    "/issues",
    "/issues/1",
    "/findings/{number}",
    *(f"/runs/{{run_id}}/report/{name}" for name in FORMATS),
)
LOST = (f"/{ASKED}", f"/runs/{ASKED}", f"/targets/{ASKED}", f"/runs?before={ASKED}{ASKED}%00", f"/issues?state={ASKED}")


async def browsed(address: str, token: str, run_id: str, number: int) -> dict[str, bytes]:
    """Every page that shows no foreign text, seen by somebody who has logged in: headers and bodies."""
    async with httpx.AsyncClient(base_url=f"{address}/ui") as client:
        wrong = await client.post("/login", data={"token": WRONG_TOKEN})
        entered = await client.post("/login", data={"token": token})
        seen = [await client.get(path.format(run_id=run_id, number=number)) for path in PAGES]
        lost = [await client.get(path) for path in LOST]
        lost.append(await client.post("/issues/1/note", data={"csrf": ASKED, "note": ASKED}))
    assert (wrong.status_code, entered.status_code) == (401, 303)
    assert {answer.status_code for answer in seen} == {200}
    told = {f"page {path}": repr(page.headers).encode() + page.content for path, page in zip(PAGES, seen, strict=True)}
    return told | {f"lost page {index}": repr(page.headers).encode() + page.content for index, page in enumerate(lost)}


async def opened(address: str, token: str, number: int) -> str:
    """Foreign text, by the one page that shows it."""
    async with httpx.AsyncClient(base_url=f"{address}/ui") as client:
        await client.post("/login", data={"token": token})
        asked_for = (await client.get(f"/vault/{number}")).text
        csrf = asked_for.partition('name="csrf" value="')[2][:64]
        return (await client.post(f"/vault/{number}", data={"csrf": csrf, "reason": "whose is it?"})).text


async def reloaded(place: Workplace, one: ReplicaProcess) -> int:
    """Configurations that cannot be taken, each with a secret in another place; gives how many were refused."""
    sound = place.config.read_text()
    document = json.loads(sound)
    (place.folder / "secret.file").write_text(f"{RELOADED}\n{RELOADED}\n\x00")

    def changed(**top: object) -> str:
        return json.dumps(document | top)

    def retargeted(**target: object) -> str:
        return changed(targets={"hostile": document["targets"]["hostile"] | target})

    hook = {"kind": "webhook", "url": f"http://h/{RELOADED}", "secret": RELOADED}
    texts = (
        f"version: 1\n  {RELOADED}: [\n",
        f"{RELOADED}\n",
        changed(**{RELOADED: RELOADED}),
        changed(database=f"postgresql://prober:{DATABASE_PASSWORD}@127.0.0.1:9/prober"),
        changed(database=f"oracle://prober:{DATABASE_PASSWORD}@127.0.0.1:9/prober"),
        changed(vault={"key": RELOADED}),
        changed(vault={"key_file": "secret.file"}),
        changed(key_file="secret.file"),
        changed(notifications={"hook": {"kind": RELOADED, "url": f"http://{RELOADED}:x/"}}),
        changed(notifications={"hook": hook}),
        retargeted(tenants=[{"name": "a", "credential": f"{RELOADED}\n"}]),
        retargeted(tenants=[{"name": "a", "credential_file": "secret.file"}]),
        retargeted(headers={"X-A": f"{RELOADED}\r\nX: y"}),
        retargeted(url=f"http://u:{RELOADED}@h/v1?{RELOADED}"),
    )
    for number, text in enumerate(texts, 1):
        place.config.write_text(text)
        one.process.send_signal(signal.SIGHUP)
        await until(lambda number=number: len(one.named("reload_refused")) == number)
    place.config.write_text(sound)
    (place.folder / "secret.file").unlink()
    return len(texts)


def files(place: Workplace) -> dict[str, bytes]:
    """All that lies in the folder but what holds secrets on purpose."""
    return {
        path.name: path.read_bytes()
        for path in place.folder.iterdir()
        if path != place.config and path.suffix != ".key" and path.is_file()
    }


def own_keys(place: Workplace) -> Mapping[str, str]:
    return {name: secret_of(json.loads((place.folder / name).read_text())) for name in ("canary.key", "vault.key")}


async def token_of(place: Workplace, *scopes: str) -> str:
    options = [word for scope in scopes for word in ("--scope", scope)]
    made = await place.invoke_beside("token", "create", "--name", "-".join(scopes), *options)
    assert made.code == 0, made.said
    return made.stdout.strip()


async def test_the_service_tells_and_writes_no_secret(place: Workplace, eavesdropper: tuple[Eavesdropper, int]):
    """Log, metrics, API, notices, tables, write-ahead log and copy are free of customers' text, keys, tokens, URLs."""
    receiver, port = eavesdropper
    llm = LeakingLlm("content", place.folder)
    async with hostile(llm.handler()) as server:
        configured(place, server.port, port)
        tokens = await token_of(place, "read", "run", "admin"), await token_of(place, "vault")
        tokens += (await token_of(place, "read", "vault"),)
        async with replica(place) as one:
            address = (await one.until("serving"))["address"]
            await one.until("job_ended")
            await until(lambda: len(receiver.requests) >= SAID, 60)
            [(number,), *_] = place.rows("SELECT finding_id FROM vault_excerpts WHERE ciphertext IS NOT NULL")
            [(run_id,)] = place.rows(f"SELECT run_id FROM findings WHERE id = {int(number)}")  # noqa: S608 - a number
            shown = await read(address, tokens[1], number), await opened(address, tokens[2], number)
            places = await asked(address, tokens[0], number) | await browsed(address, tokens[0], run_id, number)
            refused = await reloaded(place, one)
            places |= {f"at work: {name}": content for name, content in files(place).items()}
            copied = await place.invoke_beside("db", "backup", str(place.folder / "copy.db"))
            assert await one.end() == 0
            assert one.process.stdout is not None
            places["stdout"] = await one.process.stdout.read()

    places |= files(place) | tables(place.database)
    places["log"] = json.dumps(list(one.events), ensure_ascii=False).encode()
    places |= {"write-ahead log": llm.logged, "backup": copied.said.encode()}
    places |= {f"notice {index}": body for index, body in enumerate(receiver.requests)}
    secrets = SECRETS | OUR_SECRETS | own_keys(place) | {f"token {each[:12]}": each for each in tokens}

    assert llm.leaked
    assert [MARK in text for text in shown] == [True, True]
    assert len(one.named("reload_problem")) >= refused > 0
    assert len(one.named("notice_not_taken")) >= SAID - 3
    assert {"copy.db", "at work: prober.db-wal", "table notices", "table vault_log", "table issues"} <= places.keys()
    assert leaks(places, secrets) == set()
