"""The API over a real database, and callers with tokens of every kind."""

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
from fastapi import FastAPI
from fastapi.routing import APIRoute

from prober.config.serving import ApiSettings
from prober.domain.account import Scope
from prober.plan.scenarios import SCENARIOS
from prober.service.api.app import build_app
from prober.service.api.desk import Desk, Schedule
from prober.store.database import Database
from prober.store.issues import IssueBook
from prober.store.jobs import JobQueue
from prober.store.lookups import LedgerLookups
from prober.store.reports import StoredReports
from prober.store.switches import SwitchBoard
from prober.store.tokens import TokenBook
from prober.store.vault import Vault
from tests.support.ledger import SettableClock
from tests.support.reports import a_campaign

V1 = "/api/v1"
ADDRESS = "203.0.113.7"


class FakeSchedules:
    """Schedules that never fire."""

    def __init__(self, *names: str) -> None:
        self.known = {
            name: Schedule(
                name=name,
                targets=("staging",),
                when="every 15 minutes",
                next_at=dt.datetime(2026, 9, 1, 12, 15, tzinfo=dt.UTC),
            )
            for name in names
        }

    async def listed(self) -> Sequence[Schedule]:
        return tuple(self.known.values())

    async def pause(self, name: str, by: str) -> Schedule | None:
        return self._change(name, is_paused=True, paused_by=by, next_at=None)

    async def resume(self, name: str, by: str) -> Schedule | None:
        return self._change(name, is_paused=False, paused_by="")

    def _change(self, name: str, **changes: object) -> Schedule | None:
        if name not in self.known:
            return None
        self.known[name] = dataclasses.replace(self.known[name], **changes)
        return self.known[name]


async def ready() -> bool:
    return True


@dataclasses.dataclass(frozen=True)
class Served:
    """An application, and what a test wants to look at behind it."""

    app: FastAPI
    desk: Desk
    database: Database
    clock: SettableClock
    tokens: TokenBook
    queue: JobQueue
    faults: list[tuple[str, BaseException]]

    def client(self, secret: str | None = None, *, address: str = ADDRESS) -> httpx.AsyncClient:
        """Someone at an address, with a token or without."""
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        transport = httpx.ASGITransport(self.app, client=(address, 4711))
        return httpx.AsyncClient(transport=transport, base_url="http://prober.test", headers=headers)

    async def caller(self, *scopes: Scope, name: str = "caller") -> httpx.AsyncClient:
        """Someone with a live token of these scopes."""
        return self.client(await self.tokens.create(name, scopes))

    def routes(self) -> list[tuple[str, APIRoute]]:
        """Every method and route there is."""
        return [(method, route) for route in api_routes(self.app) for method in sorted(route.methods)]


def api_routes(app: FastAPI) -> list[APIRoute]:
    """All routes that the framework knows, however they were included."""
    return [route for route in app.routes if isinstance(route, APIRoute)]


def served(
    database: Database, clock: SettableClock, *, settings: Mapping[str, Any] | None = None, **changes: object
) -> Served:
    """Build the application; `settings` are of the section `api`, changes replace ports."""
    faults: list[tuple[str, BaseException]] = []
    tokens, queue = TokenBook(database, clock), JobQueue(database, clock, "replica-1")
    ports: dict[str, Any] = {
        "settings": ApiSettings(**(settings or {})),
        "clock": clock,
        "tokens": tokens,
        "queue": queue,
        "lookups": LedgerLookups(database, clock),
        "reports": StoredReports(database),
        "issues": IssueBook(database, clock),
        "schedules": FakeSchedules("nightly"),
        "switches": SwitchBoard(database, clock),
        "vault": Vault(database, clock),
        "campaigns": lambda: {"staging": a_campaign()},
        "scenarios": tuple(SCENARIOS),
        "readiness": {"database": ready, "scheduler": ready, "key": ready},
        "exposition": lambda: "# HELP prober_up One.\nprober_up 1.0\n",
        "report": lambda component, error: faults.append((component, error)),
    }
    desk = Desk(**{**ports, **changes})
    return Served(build_app(desk), desk, database, clock, tokens, queue, faults)
