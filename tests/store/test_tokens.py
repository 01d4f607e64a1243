"""API tokens, on SQLite and on PostgreSQL."""

import datetime as dt
import hmac
import re

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.account import Scope
from prober.domain.errors import ConfigError, LedgerError
from prober.store.database import Database
from prober.store.schema.accounts import api_tokens
from prober.store.tokens import PREFIX, TokenBook
from prober.telemetry.redaction import REDACTED, Redactor
from tests.support.ledger import SettableClock

DAY = dt.timedelta(days=1)


@pytest.fixture
def book(database: Database, clock: SettableClock) -> TokenBook:
    return TokenBook(database, clock)


async def test_a_secret_names_its_token(book: TokenBook, clock: SettableClock):
    """Whoever shows the secret is known by name and scopes; each of two tokens leads to its own."""
    first = await book.create("ci", [Scope.RUN, Scope.READ], clock.now() + DAY)
    second = await book.create("grafana", {Scope.READ})

    found = await book.verify(first)
    assert found is not None
    assert (found.name, found.scopes) == ("ci", {Scope.READ, Scope.RUN})
    assert (found.created_at, found.expires_at) == (clock.now(), clock.now() + DAY)
    other = await book.verify(second)
    assert other is not None
    assert (other.name, other.scopes, other.expires_at) == ("grafana", {Scope.READ}, None)


async def test_a_secret_is_recognisable_and_not_guessable(book: TokenBook):
    """Prefix, public part, 256 bits in base 32; no two are alike, and a log never shows one."""
    secrets = {await book.create(f"t{number}", [Scope.READ]) for number in range(8)}
    assert len(secrets) == 8
    for secret in secrets:
        assert re.fullmatch(rf"{PREFIX}_[a-z2-7]{{16}}_[a-z2-7]{{52}}", secret)
        assert Redactor().redact(f"got {secret}!") == f"got {REDACTED}!"


async def test_only_a_hash_is_stored(book: TokenBook, database: Database):
    """Who reads the database can let nobody in: no column holds the secret, or its private part."""
    secret = await book.create("ci", list(Scope))
    await book.verify(secret)
    async with database.read() as connection:
        (row,) = (await connection.execute(sa.select(api_tokens))).all()
    assert secret.rpartition("_")[2] not in repr(row)
    assert row.secret_sha256 not in repr(await book.listed())


async def test_a_changed_secret_is_refused(book: TokenBook):
    """Each part counts: another one's private part, one character more, fewer, other, or in capitals is nobody's."""
    ours, theirs = await book.create("ours", [Scope.READ]), await book.create("theirs", [Scope.READ])
    mixed = f"{ours.rpartition('_')[0]}_{theirs.rpartition('_')[2]}"
    last = "a" if ours[-1] != "a" else "b"
    for wrong in (mixed, ours[:-1], ours + "a", ours[:-1] + last, ours.upper(), f" {ours}", f"{ours}\n", ""):
        assert await book.verify(wrong) is None, wrong
    assert await book.verify(ours) is not None


async def test_secrets_are_compared_in_constant_time(book: TokenBook, monkeypatch: pytest.MonkeyPatch):
    """A known public part and an unknown one cost one comparison each, of equal lengths."""
    secret = await book.create("ci", [Scope.READ])
    compared: list[tuple[int, int]] = []
    plain = hmac.compare_digest

    def compare(one: str, other: str) -> bool:
        compared.append((len(one), len(other)))
        return plain(one, other)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    prefix, public, private = secret.split("_")
    await book.verify(secret)
    await book.verify(f"{prefix}_{public}_{'a' * 52}")
    await book.verify(f"{prefix}_{'a' * 16}_{private}")
    assert compared == [(64, 64)] * 3


async def test_an_expired_or_revoked_token_lets_nobody_in(book: TokenBook, clock: SettableClock):
    """From the very moment on; the first revocation is the one that counts."""
    short, long = await book.create("short", [Scope.READ], clock.now() + DAY), await book.create("long", [Scope.READ])
    clock.advance(DAY.total_seconds() - 1)
    assert await book.verify(short) is not None
    clock.advance(1)
    assert await book.verify(short) is None

    revoked = await book.revoke("long")
    assert revoked is not None
    assert revoked.revoked_at == clock.now()
    assert await book.verify(long) is None
    clock.advance(60)
    again = await book.revoke("long")
    assert again is not None
    assert again.revoked_at == revoked.revoked_at
    assert await book.revoke("nobody") is None
    assert not await book.has_live()


async def test_a_name_is_never_given_twice(book: TokenBook):
    """Runs name who asked for them: that must stay one token, also after its revocation."""
    await book.create("ci", [Scope.READ])
    with pytest.raises(ConfigError, match="already"):
        await book.create("ci", [Scope.READ])
    await book.revoke("ci")
    with pytest.raises(ConfigError, match="already"):
        await book.create("ci", [Scope.READ])
    assert [token.name for token in await book.listed()] == ["ci"]


@pytest.mark.parametrize("name", ["", "-ci", "a/b", "ä", "a" * 64, "a\0b", "a b"])
async def test_an_unusable_name_is_refused(book: TokenBook, name: str):
    """Names stand in logs, tables and idempotency keys."""
    with pytest.raises(ConfigError, match="name"):
        await book.create(name, [Scope.READ])


async def test_a_token_that_permits_nothing_is_refused(book: TokenBook, clock: SettableClock):
    """No scope, or an end that is past, is a mistake."""
    with pytest.raises(ConfigError, match="scope"):
        await book.create("ci", [])
    with pytest.raises(ConfigError, match="future"):
        await book.create("ci", [Scope.READ], clock.now())


async def test_its_use_is_noted_once_a_minute(book: TokenBook, clock: SettableClock):
    """`last_used_at` is true to the minute, and costs one write in it."""

    async def last_used() -> dt.datetime | None:
        (token,) = await book.listed()
        return token.last_used_at

    secret = await book.create("ci", [Scope.READ])
    assert await last_used() is None
    first = clock.now()
    await book.verify(secret)
    clock.advance(59)
    await book.verify(secret)
    assert await last_used() == first
    clock.advance(1)
    await book.verify(secret)
    assert await last_used() == clock.now()


async def test_a_wrong_secret_notes_no_use(book: TokenBook):
    """Only its holder uses a token."""
    secret = await book.create("ci", [Scope.READ])
    await book.verify(f"{secret.rpartition('_')[0]}_{'a' * 52}")
    (token,) = await book.listed()
    assert token.last_used_at is None


async def test_a_database_that_cannot_be_written_still_lets_in(sqlite_database: Database, clock: SettableClock):
    """With a full disk, people must be able to look: that a token was used is left out then."""
    secret = await TokenBook(sqlite_database, clock).create("ci", [Scope.READ])

    class ReadOnly(Database):
        def __init__(self) -> None:
            """Share the real one."""

        def read(self) -> object:
            return sqlite_database.read()

        def begin(self) -> object:
            raise LedgerError("full")

    assert await TokenBook(ReadOnly(), clock).verify(secret) is not None


async def test_a_scope_of_a_newer_version_permits_nothing(book: TokenBook, database: Database):
    """During an upgrade both versions run: the older one ignores what it does not know."""
    secret = await book.create("ci", [Scope.READ])
    async with database.begin() as connection:
        await connection.execute(sa.update(api_tokens).values(scopes=["read", "launch"]))
    found = await book.verify(secret)
    assert found is not None
    assert found.scopes == {Scope.READ}


@given(st.text())
def test_garbage_is_no_token(garbage: str):
    """Whatever stands in the header, nothing is looked up that has not the form of a secret."""

    class Closed(Database):
        def __init__(self) -> None:
            """Nothing to open."""

        def read(self) -> object:
            raise AssertionError

    verifying = TokenBook(Closed(), SettableClock()).verify(garbage)
    with pytest.raises(StopIteration) as ended:
        verifying.send(None)
    assert ended.value.value is None
