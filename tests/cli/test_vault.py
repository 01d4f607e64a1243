"""Looking at foreign text that was caught."""

import getpass
import json

import pytest

from prober.cli import vault as vault_command
from prober.cli.exits import Exit
from tests.support.command import Finished, Workplace
from tests.support.fake_llm import FakeLlm, Reply
from tests.support.hostile import hostile

CUSTOMER = "Frau Mustermann, IBAN DE89 3704 0044 0532 0130 00"
HOSTILE = "\x1b[2J\x1b]0;owned\x07"


class CustomersLlm(FakeLlm):
    """Over the limit, a customer's text stands before another probe's, with an escape sequence in it."""

    def reply(self, tenant: str, text: str) -> Reply:
        reply = super().reply(tenant, text)
        return (
            Reply(f"{CUSTOMER}\n{HOSTILE} {reply.text}", reply.prompt_tokens) if "lantern" not in reply.text else reply
        )


def with_key(place: Workplace) -> Workplace:
    """Name a vault key in the configuration."""
    assert place.invoke("vault", "key", "new", str(place.folder / "vault.key")).code == 0
    return with_settings(place, key_file="vault.key")


def with_settings(place: Workplace, **vault: object) -> Workplace:
    document = json.loads(place.config.read_text())
    place.config.write_text(json.dumps({**document, "vault": vault}))
    return place


async def caught(place: Workplace, *, is_keyed: bool = True) -> str:
    """Run against a leaking target; returns the number of a finding."""
    async with hostile(CustomersLlm(leaks=True).handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1")
        if is_keyed:
            with_key(place)
        finished = await place.invoke_beside("run")
    assert finished.code == Exit.VIOLATION, finished.said
    listed = await place.invoke_beside("findings", "list")
    return next(line for line in listed.stdout.splitlines() if "foreign_canary" in line).split()[0]


async def show(place: Workplace, number: str, *options: str) -> Finished:
    return await place.invoke_beside("vault", "show", number, *options)


async def test_a_reason_opens_it_after_it_was_logged(place: Workplace):
    """`run` keeps what it caught; `vault show` warns, prints it with escapes made visible, and is in the log."""
    number = await caught(place)
    shown = await show(place, number, "--reason", "find the customer", "--who", "grace")
    log = await place.invoke_beside("vault", "log")

    assert shown.code == 0, shown.said
    assert f"| {CUSTOMER}" in shown.stdout
    assert r"| \x1b[2J\x1b]0;owned\x07" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert "may be text of a real customer" in shown.stderr
    [entry] = log.stdout.splitlines()[1:]
    assert entry.split()[2:5] == ["read", number, "1"]
    assert f"grace ({getpass.getuser()})" in entry
    assert entry.endswith("find the customer")


@pytest.mark.parametrize("options", [(), ("--reason", ""), ("--reason", "  ")])
async def test_without_a_reason_it_stays_closed(place: Workplace, options: tuple[str, ...]):
    """No reason: a wrong command line, nothing printed, nothing logged as read."""
    number = await caught(place)
    shown = await show(place, number, *options)

    assert shown.code == Exit.USAGE
    assert "Mustermann" not in shown.said
    assert "nobody has looked" in (await place.invoke_beside("vault", "log")).stdout


async def test_the_log_is_written_before_a_word_is_printed(place: Workplace, monkeypatch: pytest.MonkeyPatch):
    """Whoever breaks the printing has still been seen reading."""
    number = await caught(place)

    def broken(*_arguments: object) -> list[str]:
        raise ZeroDivisionError

    monkeypatch.setattr(vault_command, "_lines", broken)
    shown = await show(place, number, "--reason", "r")

    assert shown.code == Exit.OWN_FAILURE
    assert place.rows("SELECT act, finding_id FROM vault_log") == [("read", int(number))]


async def test_without_a_key_hash_and_length_are_told(place: Workplace):
    """Nothing can be read back; the answer says why."""
    number = await caught(place, is_keyed=False)
    shown = await show(place, number, "--reason", "r")

    assert shown.code == 0
    assert "only its hash was kept, for want of a vault key: SHA-256 " in shown.stdout
    assert "Mustermann" not in shown.said
    assert place.rows("SELECT count(*) FROM vault_excerpts WHERE ciphertext IS NOT NULL") == [(0,)]


async def test_a_lost_key_is_our_own_failure(place: Workplace):
    """Evidence that cannot be opened does not look like evidence that is not there."""
    number = await caught(place)
    with_settings(place)
    shown = await show(place, number, "--reason", "r")

    assert shown.code == Exit.OWN_FAILURE
    assert "names no vault key" in shown.stderr


def test_nothing_kept_is_said_in_words(place: Workplace):
    """A wrong number is a wrong command line."""
    place.configure("http://127.0.0.1:9/v1")
    shown = place.invoke("vault", "show", "4711", "--reason", "r")

    assert shown.code == Exit.USAGE
    assert "nothing is kept for finding 4711" in shown.stderr


async def test_rotation_makes_an_older_key_unneeded(place: Workplace):
    """New key, everything encrypted anew, old key dropped: what was caught can still be read."""
    number = await caught(place)
    file = str(place.folder / "vault.key")
    old = json.loads((place.folder / "vault.key").read_text())["current"]
    for arguments in (("vault", "key", "rotate", file), ("vault", "rotate"), ("vault", "key", "drop", file, old)):
        finished = await place.invoke_beside(*arguments)
        assert finished.code == 0, finished.said
    shown = await show(place, number, "--reason", "r")

    assert CUSTOMER in shown.stdout


async def test_rotation_says_what_it_could_not_open(place: Workplace):
    """Text under a key that is gone is told, and is our own failure."""
    await caught(place)
    (place.folder / "vault.key").unlink()
    with_key(place)
    rotated = await place.invoke_beside("vault", "rotate")

    assert rotated.code == Exit.OWN_FAILURE
    assert "0 excerpts are under" in rotated.stdout
    assert "their key is not on the keyring" in rotated.stderr


async def test_purging_needs_to_be_told_what(place: Workplace):
    """All of it only when asked for by name; findings stay."""
    number = await caught(place)
    for wrong in ((), ("--all", "--finding", number)):
        assert (await place.invoke_beside("vault", "purge", *wrong)).code == Exit.USAGE
    assert "0 excerpts" in (await place.invoke_beside("vault", "purge", "--older-than", "1")).stdout
    assert "1 excerpts" in (await place.invoke_beside("vault", "purge", "--finding", number)).stdout
    gone = await place.invoke_beside("vault", "purge", "--all")

    assert gone.code == 0
    assert place.rows("SELECT count(*) FROM vault_excerpts") == [(0,)]
    assert (await place.invoke_beside("findings", "show", number)).code == 0


def test_validate_says_whether_text_is_kept(place: Workplace):
    """An operator sees before the first leak whether it could be read."""
    place.configure("http://127.0.0.1:9/v1")
    assert "no vault key: of foreign text only hashes and lengths" in place.invoke("validate").stdout
    with_key(place)
    shown = place.invoke("validate", "--show")

    assert "1 on the ring" in shown.stdout
    key = next(iter(json.loads((place.folder / "vault.key").read_text())["keys"].values()))
    assert key not in shown.said


def test_whoever_has_no_name_is_logged_as_such(place: Workplace, monkeypatch: pytest.MonkeyPatch):
    """A container's user may have a number only; that is no reason to refuse."""

    def nobody() -> str:
        raise OSError

    monkeypatch.setattr(getpass, "getuser", nobody)
    place.configure("http://127.0.0.1:9/v1")
    place.invoke("vault", "show", "1", "--reason", "r", "--who", "ann")

    assert place.rows("SELECT who FROM vault_log") == [("ann (unknown login)",)]


@pytest.mark.parametrize("verb", [("show", "1"), ("purge", "--all"), ("rotate",)])
def test_no_name_pushes_the_login_out_of_the_log(place: Workplace, verb: tuple[str, ...]):
    """A name that would fill the log's column alone is refused; the longest one allowed leaves the login whole."""
    place.configure("http://127.0.0.1:9/v1")
    with_key(place)
    refused = place.invoke("vault", *verb, "--reason", "r", "--who", "a" * 200)
    assert refused.code == Exit.USAGE
    assert "at most 100 characters" in refused.stderr
    assert place.rows("SELECT who FROM vault_log") == []

    place.invoke("vault", *verb, "--reason", "r", "--who", "a" * 100)
    assert place.rows("SELECT who FROM vault_log") == [(f"{'a' * 100} ({getpass.getuser()})",)]
