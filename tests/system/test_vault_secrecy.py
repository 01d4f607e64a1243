"""What the vault keeps stands nowhere in plain: not in a table, the write-ahead log, a log, a report or a traceback."""

import base64
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest

from prober.store.vault_cipher import VaultCipher
from tests.support.command import Finished, Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import DONE, SSE_HEAD, Handler, Peer, delta, finish, hostile, usage
from tests.system.test_secrecy import CUSTOMER, MARK, SECRETS, leaks, written


def content(customer: str, leak: str) -> bytes:
    return delta(f"{customer}\n{leak}")


def pieces(customer: str, leak: str) -> bytes:
    text = f"{leak} {customer}"
    return b"".join(delta(text[start : start + 9]) for start in range(0, len(text), 9))


def reasoning(customer: str, leak: str) -> bytes:
    return delta(None, reasoning_content=f"{customer} {leak}") + delta("ok")


def upper(customer: str, leak: str) -> bytes:
    return delta(f"{customer.upper()} {leak}")


def escaped(customer: str, leak: str) -> bytes:
    return delta(f"{json.dumps(customer)} {leak}")


def encoded(customer: str, leak: str) -> bytes:
    return delta(f"{base64.b64encode(customer.encode()).decode()} {leak}")


LEAKS = {form.__name__: form for form in (content, pieces, reasoning, upper, escaped, encoded)}


class LeakingLlm(FakeLlm):
    """Over the limit, a customer's text comes back beside another probe's. Reads the log that is not yet merged."""

    def __init__(self, form: str, folder: Path) -> None:
        super().__init__(leaks=True)
        self.form = LEAKS[form]
        self.folder = folder
        self.logged = b""
        self.leaked = 0

    def handler(self) -> Handler:
        async def answer(peer: Peer) -> None:
            self.logged += b"".join(path.read_bytes() for path in self.folder.glob("prober.db-wal"))
            await peer.read_request()
            text = json.loads(peer.call.body)["messages"][0]["content"]
            reply = self.reply(peer.call.headers.get("authorization", ""), text)
            is_leak = "lantern" not in (reply.text or "")
            self.leaked += is_leak
            said = self.form(CUSTOMER, reply.text or "") if is_leak else delta(reply.text)
            await peer.send(SSE_HEAD + said + finish() + usage(reply.prompt_tokens, 40) + DONE)

        return answer


async def caught(place: Workplace, form: str) -> tuple[LeakingLlm, Finished]:
    """Run against a leaking target with a vault key, and with everything switched on that can tell something."""
    llm = LeakingLlm(form, place.folder)
    async with hostile(llm.handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        await place.invoke_beside("vault", "key", "new", str(place.folder / "vault.key"))
        document = json.loads(place.config.read_text())
        place.config.write_text(json.dumps({**document, "vault": {"key_file": "vault.key"}}))
        report, metrics = str(place.folder / "report.json"), str(place.folder / "metrics.prom")
        arguments = ("run", "--json", report, "--metrics", metrics, "--log-level", "debug", "--log-format", "json")
        return llm, await place.invoke_beside(*arguments)


def tables(database: Path) -> dict[str, bytes]:
    """Every table's rows, as Python shows them."""
    with sqlite3.connect(database) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}  # noqa: S608 - ours
    connection.close()
    return {f"table {name}": repr(found).encode() for name, found in rows.items()}


def everywhere(place: Workplace, llm: LeakingLlm, *finished: Finished) -> dict[str, bytes]:
    files = written(place, *finished)
    del files["vault.key"]
    return files | tables(place.database) | {"write-ahead log": llm.logged}


def key_in_all_spellings(place: Workplace) -> Mapping[str, bytes]:
    key = bytes.fromhex(next(iter(json.loads((place.folder / "vault.key").read_text())["keys"].values())))
    return {"raw": key, "hex": key.hex().encode(), "base64": base64.b64encode(key)[:-4]}


@pytest.mark.parametrize("form", LEAKS)
async def test_what_is_kept_stands_nowhere_in_plain(form: str, place: Workplace):
    """The vault holds it, its own verb shows it, and every artefact is free of it; so is all that tells of the key."""
    llm, finished = await caught(place, form)
    listed = await place.invoke_beside("findings", "list")
    number = next(line for line in listed.stdout.splitlines() if "foreign_canary" in line).split()[0]
    told = [await place.invoke_beside(*verb) for verb in (("findings", "show", number), ("vault", "log"))]
    places = everywhere(place, llm, finished, listed, *told)

    assert llm.leaked
    assert finished.code == 1, finished.said
    assert (
        place.rows("SELECT count(DISTINCT finding_id) FROM vault_excerpts WHERE ciphertext IS NOT NULL")[0][0]
        == llm.leaked
    )
    assert {"prober.db", "report.json", "metrics.prom", "table vault_excerpts", "table findings"} <= places.keys()
    assert len(llm.logged) > 1_000
    assert leaks(places) == set()
    for spelling in key_in_all_spellings(place).values():
        assert [name for name, text in places.items() if spelling in text] == []

    shown = await place.invoke_beside("vault", "show", number, "--reason", "tell the customer")
    wanted = base64.b64encode(CUSTOMER.encode()).decode() if form == "encoded" else MARK
    assert wanted.rstrip("=") in shown.stdout
    assert leaks(everywhere(place, llm, finished, listed, *told)) == set()


async def test_a_vault_that_crashes_with_the_text_in_hand_tells_nothing(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
):
    """The exception that quotes it is told by class; finding, verdict and exit code are as ever, the fault counts."""

    def careless(_self: object, text: str, _where: object) -> object:
        raise RuntimeError(f"cannot seal {text!r}")

    monkeypatch.setattr(VaultCipher, "seal", careless)
    llm, finished = await caught(place, "content")
    places = everywhere(place, llm, finished)

    assert finished.code == 1
    assert place.rows("SELECT count(*) FROM vault_excerpts") == [(0,)]
    assert place.rows("SELECT count(*) FROM findings WHERE reason = 'foreign_canary'")[0][0] == llm.leaked
    assert b'prober_internal_errors_total{component="vault"} ' in places["metrics.prom"]
    assert b'prober_internal_errors_total{component="vault"} 0' not in places["metrics.prom"]
    assert b"RuntimeError" in places["stderr 0"]
    assert leaks(places) == set()


async def test_a_wrong_key_tells_nothing(place: Workplace):
    """What cannot be opened is told by finding and key, never by its bytes."""
    llm, finished = await caught(place, "content")
    listed = await place.invoke_beside("findings", "list")
    number = next(line for line in listed.stdout.splitlines() if "foreign_canary" in line).split()[0]
    place.change("UPDATE vault_excerpts SET start = start + 1")
    shown = await place.invoke_beside("vault", "show", number, "--reason", "r")

    assert shown.code == 4
    assert "changed or moved" in shown.stderr
    assert leaks(everywhere(place, llm, finished, shown)) == set()
    assert SECRETS["customer"] == CUSTOMER
