"""What the pages need of the world: the API's desk, and a little more."""

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from prober.domain.account import ApiToken, WebSession
from prober.domain.budget import Standing
from prober.service.api.desk import Desk
from prober.store.page_lookups import LimitPoint, ScenarioProgress
from prober.store.rows import StoredRun


class Sessions(Protocol):
    """Logins. Raises LedgerError."""

    async def open(self, token: ApiToken) -> str:
        """Log the holder of a live token in; returns the session's secret."""
        ...

    async def find(self, secret: str, *, is_used: bool = True) -> WebSession | None:
        """Tell whose session this is; None once it is over. Where somebody used it, its idle time begins anew."""
        ...

    async def close(self, secret: str) -> None:
        """Log out."""
        ...


class Runs(Protocol):
    """All runs, those of the command line too. Raises LedgerError."""

    async def runs(
        self, *, target: str | None = None, limit: int = 50, before: str | None = None
    ) -> Sequence[StoredRun]:
        """List, newest first; `before` is the id of the last one of the page before."""
        ...


class Lookups(Protocol):
    """What pages alone ask. Raises LedgerError."""

    async def limits(self, target: str, limit: int = 60) -> Sequence[LimitPoint]:
        """List a target's limits over time, oldest first."""
        ...

    async def progress(self, run_id: str) -> Sequence[ScenarioProgress]:
        """Count what a run has sent and judged."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PagePorts:
    """The ports behind the pages."""

    desk: Desk
    sessions: Sessions
    runs: Runs
    lookups: Lookups
    standings: Callable[[], Awaitable[Sequence[Standing]]]
    """How much of every cap is used now. Raises LedgerError."""
    currency: Callable[[], str]
    """What money is counted in, as configured now."""
