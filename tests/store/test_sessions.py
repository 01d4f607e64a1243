"""Sessions of the pages, on SQLite and on PostgreSQL."""

import datetime as dt

import pytest
import sqlalchemy as sa

from prober.domain.account import ApiToken, Scope
from prober.store.database import Database
from prober.store.schema.accounts import web_sessions
from prober.store.sessions import IDLE, LONGEST, USE_NOTED_EVERY, SessionBook
from prober.store.tokens import TokenBook
from tests.support.ledger import SettableClock


@pytest.fixture
def book(database: Database, clock: SettableClock) -> SessionBook:
    return SessionBook(database, clock)


@pytest.fixture
async def token(database: Database, clock: SettableClock) -> ApiToken:
    tokens = TokenBook(database, clock)
    found = await tokens.verify(await tokens.create("sre", [Scope.READ], clock.now() + dt.timedelta(days=30)))
    assert found is not None
    return found


async def test_a_session_may_what_its_token_may(book: SessionBook, token: ApiToken, clock: SettableClock):
    """As long as that lives."""
    session = await book.find(await book.open(token))
    assert session is not None
    assert (session.token.name, session.token.scopes, session.opened_at) == ("sre", {Scope.READ}, clock.now())


async def test_only_a_hash_is_stored(book: SessionBook, token: ApiToken, database: Database):
    """Who reads the database can enter no session."""
    secret = await book.open(token)
    async with database.read() as connection:
        (row,) = (await connection.execute(sa.select(web_sessions))).all()
    assert secret not in repr(row)
    assert len({await book.open(token) for _ in range(8)} | {secret}) == 9


@pytest.mark.parametrize("secret", ["", "x", "x" * 43, "\x00" * 43, "x" * 10_000])
async def test_what_is_no_session_is_nobodys(secret: str, book: SessionBook, token: ApiToken):
    """Garbage is refused without a fault."""
    await book.open(token)
    assert await book.find(secret) is None


async def test_a_session_ends_unused_and_after_its_longest_time(
    book: SessionBook, token: ApiToken, clock: SettableClock
):
    """Use, noted to the minute, puts off the first end only."""
    secret = await book.open(token)
    clock.advance(IDLE.total_seconds() - 1)
    assert await book.find(secret) is not None
    clock.advance(IDLE.total_seconds() - USE_NOTED_EVERY.total_seconds())
    assert await book.find(secret) is not None
    clock.advance(IDLE.total_seconds())
    assert await book.find(secret) is None

    other, begun = await book.open(token), clock.now()
    while clock.now() - begun + IDLE / 2 < LONGEST:
        clock.advance(IDLE.total_seconds() / 2)
        assert await book.find(other) is not None
    clock.advance(IDLE.total_seconds() / 2)
    assert await book.find(other) is None


async def test_a_revoked_or_expired_token_ends_its_sessions(
    book: SessionBook, token: ApiToken, database: Database, clock: SettableClock
):
    """At once."""
    secret = await book.open(token)
    await TokenBook(database, clock).revoke("sre")
    assert await book.find(secret) is None


async def test_who_logs_out_is_out(book: SessionBook, token: ApiToken):
    """Other sessions of the token go on."""
    mine, other = await book.open(token), await book.open(token)
    await book.close(mine)
    await book.close(mine)
    assert await book.find(mine) is None
    assert await book.find(other) is not None


async def test_sessions_that_are_over_do_not_pile_up(
    book: SessionBook, token: ApiToken, database: Database, clock: SettableClock
):
    """Each login clears them away."""
    for _ in range(5):
        await book.open(token)
    clock.advance(IDLE.total_seconds())
    await book.open(token)
    async with database.read() as connection:
        assert (await connection.execute(sa.select(sa.func.count()).select_from(web_sessions))).scalar_one() == 1
