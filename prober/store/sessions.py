"""Logins on the pages: opened with a token, over after a while. Of a session's secret only its hash is stored."""

import contextlib
import datetime as dt
import hashlib
import re
import secrets

import sqlalchemy as sa

from prober.domain.account import ApiToken, WebSession
from prober.domain.errors import LedgerError
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.schema.accounts import api_tokens, web_sessions
from prober.store.tokens import token_of

IDLE = dt.timedelta(minutes=30)
"""A session that nobody used for so long is over (OWASP ASVS 5.0, 7.3.1)."""
LONGEST = dt.timedelta(hours=12)
"""However much it is used (7.3.2)."""
USE_NOTED_EVERY = dt.timedelta(minutes=1)

_SECRET_BYTES = 32
_FORM = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


class SessionBook:
    """Keeps sessions. Raises LedgerError only."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def open(self, token: ApiToken) -> str:
        """Log the holder of a live token in; returns the session's secret, which is known this once."""
        now, secret = self._clock.now(), secrets.token_urlsafe(_SECRET_BYTES)
        row = {"session_sha256": _hashed(secret), "token_id": token.token_id, "opened_at": now, "seen_at": now}
        async with self._database.begin() as connection:
            await connection.execute(sa.delete(web_sessions).where(_is_over(now)))
            await connection.execute(sa.insert(web_sessions).values(row))
        return secret

    async def find(self, secret: str, *, is_used: bool = True) -> WebSession | None:
        """Tell whose session this is; None once it is over, or its token was revoked or has expired.

        Where somebody used it, that is noted at most once a minute, and left out while the database cannot be written.
        """
        if not _FORM.fullmatch(secret):
            return None
        query = (
            sa.select(web_sessions.c.opened_at, web_sessions.c.seen_at, api_tokens)
            .join_from(web_sessions, api_tokens)
            .where(web_sessions.c.session_sha256 == _hashed(secret))
        )
        async with self._database.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        now = self._clock.now()
        if row is None or now - row.seen_at >= IDLE or now - row.opened_at >= LONGEST:
            return None
        token = token_of(row)
        if not token.is_live(now):
            return None
        if is_used and now - row.seen_at >= USE_NOTED_EVERY:
            await self._note_use(secret, now)
        return WebSession(token=token, opened_at=row.opened_at)

    async def close(self, secret: str) -> None:
        """Log out; one that is over already stays so."""
        async with self._database.begin() as connection:
            await connection.execute(sa.delete(web_sessions).where(web_sessions.c.session_sha256 == _hashed(secret)))

    async def _note_use(self, secret: str, now: dt.datetime) -> None:
        note = sa.update(web_sessions).where(web_sessions.c.session_sha256 == _hashed(secret))
        with contextlib.suppress(LedgerError):
            async with self._database.begin() as connection:
                await connection.execute(note.values(seen_at=now))


def _is_over(now: dt.datetime) -> sa.ColumnElement[bool]:
    return sa.or_(web_sessions.c.seen_at <= now - IDLE, web_sessions.c.opened_at <= now - LONGEST)


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
