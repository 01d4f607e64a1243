"""API tokens on the command line."""

import datetime as dt
import re

import pytest

from prober.cli.exits import Exit
from prober.store.tokens import PREFIX
from tests.support.command import Workplace


@pytest.fixture
def configured(place: Workplace) -> Workplace:
    return place.configure("http://127.0.0.1:9/v1")


def lifetime_of(place: Workplace) -> dt.timedelta | None:
    [(made, ends)] = place.rows("SELECT created_at, expires_at FROM api_tokens")
    return None if ends is None else dt.datetime.fromisoformat(ends) - dt.datetime.fromisoformat(made)


def test_the_secret_goes_to_standard_output_alone(configured: Workplace):
    """`prober token create … > file` stores the secret and nothing else; words are on the other channel."""
    finished = configured.invoke("token", "create", "--name", "ci", "--scope", "run", "--scope", "read")

    assert finished.code == 0
    assert re.fullmatch(rf"{PREFIX}_[a-z2-7]{{16}}_[a-z2-7]{{52}}\n", finished.stdout)
    assert finished.stderr == "token ci (read, run), expires never; this secret is not shown again\n"
    assert lifetime_of(configured) is None


def test_a_secret_is_shown_once(configured: Workplace):
    """Neither the list nor the database gives it again."""
    secret = configured.invoke("token", "create", "--name", "ci", "--scope", "read").stdout.strip()
    listed = configured.invoke("token", "list")

    assert secret.rpartition("_")[2] not in listed.said
    assert secret.rpartition("_")[2] not in repr(configured.rows("SELECT * FROM api_tokens"))
    assert re.search(r"^ci +read +\S+ \S+ +never +never +live$", listed.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90d", 90 * 86_400), ("12h", 12 * 3_600), ("30m", 1_800), ("3650d", 3_650 * 86_400)]
)
def test_a_token_may_expire(configured: Workplace, text: str, seconds: int):
    """Days, hours and minutes from now on, to the second."""
    finished = configured.invoke("token", "create", "--name", "ci", "--scope", "read", "--expires", text)

    assert finished.code == 0
    lifetime = lifetime_of(configured)
    assert lifetime is not None
    assert abs(lifetime.total_seconds() - seconds) < 5


@pytest.mark.parametrize("text", ["0d", "90", "d", "-1d", "90w", "3651d", "999999d", "1d2h", "٣d", ""])
def test_a_lifetime_that_is_none_is_2(configured: Workplace, text: str):
    """A misread lifetime would live too long: it is refused, and nothing is made."""
    finished = configured.invoke("token", "create", "--name", "ci", "--scope", "read", "--expires", text)

    assert finished.code == Exit.USAGE
    assert configured.rows("SELECT * FROM api_tokens") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("--name", "ci"),
        ("--scope", "read"),
        ("--name", "ci", "--scope", "write"),
        ("--name", "a b", "--scope", "read"),
    ],
)
def test_a_token_needs_a_name_and_scopes(configured: Workplace, arguments: tuple[str, ...]):
    """There is no default: who makes a token says what for."""
    finished = configured.invoke("token", "create", *arguments)

    assert finished.code == Exit.USAGE
    assert finished.stdout == ""


def test_a_name_is_not_given_twice(configured: Workplace):
    """A wrong command line, in words; the first token is left as it is."""
    configured.invoke("token", "create", "--name", "ci", "--scope", "read")
    finished = configured.invoke("token", "create", "--name", "ci", "--scope", "admin")

    assert finished.code == Exit.USAGE
    assert "already" in finished.stderr
    assert configured.rows("SELECT scopes FROM api_tokens") == [('["read"]',)]


def test_a_revoked_token_stays_listed(configured: Workplace):
    """Runs bear its name; a second revocation says the first one's date."""
    configured.invoke("token", "create", "--name", "ci", "--scope", "read")
    first = configured.invoke("token", "revoke", "ci")
    again = configured.invoke("token", "revoke", "ci")

    assert first.code == again.code == 0
    assert first.stdout == again.stdout
    assert first.stdout.startswith("token ci is revoked since 20")
    assert configured.invoke("token", "list").stdout.rstrip().endswith("revoked")


def test_nobodys_token_is_2(configured: Workplace):
    """A misspelt name must not look like a revocation that worked."""
    finished = configured.invoke("token", "revoke", "nobody")

    assert finished.code == Exit.USAGE
    assert "no token of that name" in finished.stderr


def test_an_expired_token_is_listed_as_such(configured: Workplace):
    """The list tells who would be let in."""
    configured.invoke("token", "create", "--name", "ci", "--scope", "read", "--expires", "30m")
    configured.change("UPDATE api_tokens SET expires_at = ?", "2026-01-01 00:00:00.000000")

    assert configured.invoke("token", "list").stdout.rstrip().endswith("expired")


def test_no_tokens_is_said_in_words(configured: Workplace):
    """An empty list does not look like a failure to list."""
    assert configured.invoke("token", "list").stdout == "there are no API tokens\n"
