"""API tokens: made, checked, revoked. Of a secret only its hash is stored, and nothing here shows it again."""

import base64
import contextlib
import datetime as dt
import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.account import ApiToken, Scope
from prober.domain.errors import ConfigError, LedgerError
from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.schema.accounts import api_tokens

PREFIX = "iprb"
"""First word of every secret, by which scanners of repositories and our own redaction know one."""

USE_NOTED_EVERY = dt.timedelta(minutes=1)

_PUBLIC_BYTES = 10
_SECRET_BYTES = 32
"""256 bits from the system's random source: too many to guess, so that one plain hash is enough to keep."""
_FORM = re.compile(rf"{PREFIX}_([a-z2-7]{{16}})_[a-z2-7]{{52}}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", re.ASCII)
_NOBODYS_HASH = "0" * 64
"""What a secret is compared with whose public part is unknown: so that this takes as long."""


class TokenBook:
    """Keeps API tokens. Raises LedgerError, and ConfigError where it says so."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def create(self, name: str, scopes: Collection[Scope], expires_at: dt.datetime | None = None) -> str:
        """Make a token and return its secret, `iprb_<public part>_<secret part>`: the only time that it is known.

        Raises:
            ConfigError: no usable name, one that was given before, no scope, or an end that is past.
        """
        now = self._clock.now()
        _require_usable(name, scopes, expires_at, now)
        public, secret = _draw()
        row = {
            "token_id": public,
            "name": name,
            "secret_sha256": _hashed(secret),
            "scopes": [scope.value for scope in Scope if scope in scopes],
            "created_at": now,
            "expires_at": expires_at,
        }
        async with self._database.begin() as connection:
            if await _is_taken(connection, name):
                raise ConfigError(f"there is a token {name!r} already; a name is never given twice, also once revoked")
            await connection.execute(sa.insert(api_tokens).values(row))
        return secret

    async def verify(self, secret: str) -> ApiToken | None:
        """Tell whose secret this is; None for what is no token, is unknown, revoked or expired.

        The comparison takes the same time wherever two secrets differ. That the token was used is noted at most once a
        minute, and left out while the database cannot be written.
        """
        form = _FORM.fullmatch(secret)
        if form is None:
            return None
        async with self._database.read() as connection:
            row = (await connection.execute(_of(form[1]))).one_or_none()
        known = _NOBODYS_HASH if row is None else row.secret_sha256
        is_same = hmac.compare_digest(_hashed(secret), known)
        if row is None or not is_same:
            return None
        token, now = token_of(row), self._clock.now()
        if not token.is_live(now):
            return None
        await self._note_use(token, now)
        return token

    async def revoke(self, name: str) -> ApiToken | None:
        """End a token at once; the first revocation stays. None where no token has this name."""
        of_name = api_tokens.c.name == name
        async with self._database.begin() as connection:
            await connection.execute(
                sa.update(api_tokens)
                .where(of_name, api_tokens.c.revoked_at.is_(None))
                .values(revoked_at=self._clock.now())
            )
            row = (await connection.execute(sa.select(api_tokens).where(of_name))).one_or_none()
        return None if row is None else token_of(row)

    async def listed(self) -> tuple[ApiToken, ...]:
        """List all tokens, revoked and expired ones too, oldest first."""
        query = sa.select(api_tokens).order_by(api_tokens.c.created_at, api_tokens.c.name)
        async with self._database.read() as connection:
            return tuple(map(token_of, await connection.execute(query)))

    async def has_live(self) -> bool:
        """Tell whether there is any token that would be let in now."""
        now = self._clock.now()
        return any(token.is_live(now) for token in await self.listed())

    async def _note_use(self, token: ApiToken, now: dt.datetime) -> None:
        due = now - USE_NOTED_EVERY
        if token.last_used_at is not None and token.last_used_at > due:
            return
        last = api_tokens.c.last_used_at
        note = sa.update(api_tokens).where(api_tokens.c.token_id == token.token_id, sa.or_(last.is_(None), last <= due))
        with contextlib.suppress(LedgerError):
            async with self._database.begin() as connection:
                await connection.execute(note.values(last_used_at=now))


def _require_usable(name: str, scopes: Collection[Scope], expires_at: dt.datetime | None, now: dt.datetime) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError("a token's name must be 1 to 63 letters, digits, - or _, and begin with a letter or digit")
    if not scopes:
        raise ConfigError(f"a token needs at least one scope: {', '.join(scope.value for scope in Scope)}")
    if expires_at is not None and expires_at <= now:
        raise ConfigError("a token must expire in the future")


def _draw() -> tuple[str, str]:
    """Draw a public part, and the whole secret that holds it: letters and digits of base 32 (RFC 4648, section 6)."""
    public, private = (_base32(secrets.token_bytes(size)) for size in (_PUBLIC_BYTES, _SECRET_BYTES))
    return public, f"{PREFIX}_{public}_{private}"


def _base32(content: bytes) -> str:
    return base64.b32encode(content).decode().rstrip("=").lower()


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _of(public: str) -> sa.Select[Any]:
    return sa.select(api_tokens).where(api_tokens.c.token_id == public)


async def _is_taken(connection: AsyncConnection, name: str) -> bool:
    row = await connection.execute(sa.select(api_tokens.c.token_id).where(api_tokens.c.name == name))
    return row.one_or_none() is not None


def token_of(row: sa.Row[Any]) -> ApiToken:
    """Read a token's row."""
    known = {scope.value: scope for scope in Scope}
    return ApiToken(
        token_id=row.token_id,
        name=row.name,
        # A scope that only a newer version knows permits nothing here.
        scopes=frozenset(known[scope] for scope in row.scopes if scope in known),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
    )
