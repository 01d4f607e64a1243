"""Who may ask the service for what."""

import dataclasses
import datetime as dt
import enum
from collections.abc import Iterable


class Scope(enum.Enum):
    """What an API token permits. None of them holds another; a token carries as many as it needs."""

    READ = "read"
    """Runs, findings, issues, targets, coverage, schedules, the global stop."""
    RUN = "run"
    """Start and cancel runs."""
    ADMIN = "admin"
    """Acknowledge, resolve, suppress and annotate issues; pause and resume schedules; stop all probing."""
    VAULT = "vault"
    """Read evidence: the one scope that shows foreign text."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """An API token as it is known here. The secret itself is known to its holder alone."""

    token_id: str
    """Public part, which stands in the secret too."""
    name: str
    """Of its holder: what is asked for is asked for in this name. Never given twice, also after a revocation."""
    scopes: frozenset[Scope]
    created_at: dt.datetime
    expires_at: dt.datetime | None = None
    """None: never."""
    revoked_at: dt.datetime | None = None
    last_used_at: dt.datetime | None = None
    """To the minute."""

    def is_live(self, now: dt.datetime) -> bool:
        """Neither revoked nor expired; one that expires now has expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def permits(self, scopes: Iterable[Scope]) -> bool:
        """True where it carries all of these scopes."""
        return self.scopes.issuperset(scopes)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WebSession:
    """A login on the pages: it may what its token may, at each request anew."""

    token: ApiToken
    opened_at: dt.datetime
