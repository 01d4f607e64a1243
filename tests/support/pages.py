"""The pages over a real database, and people who have logged in."""

import dataclasses
import datetime as dt
import re
from collections.abc import Sequence

import httpx

from prober.domain.account import Scope
from prober.domain.budget import Standing
from prober.domain.campaign import Run
from prober.domain.finding import Finding
from prober.domain.verdict import RunReport
from prober.service.pages.ports import PagePorts
from prober.service.pages.site import mount
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.store.page_lookups import PageLookups
from prober.store.sessions import SessionBook
from tests.support.api import Served, served
from tests.support.ledger import SettableClock
from tests.support.reports import STARTED, a_report, a_run
from tests.support.stored import CHECK, ESTIMATE, PROMPT, judged

HOST = "http://prober.test"
PAGES = (
    "/ui/",
    "/ui/runs",
    "/ui/runs/run-1",
    "/ui/targets/staging",
    "/ui/issues",
    "/ui/issues/1",
    "/ui/findings/1",
    "/ui/vault/1",
)
"""Every page of a database with one leak."""


@dataclasses.dataclass(frozen=True)
class Visitor:
    """A browser that has logged in, and what it may do there."""

    client: httpx.AsyncClient
    csrf: str

    async def get(self, path: str, **parts: object) -> httpx.Response:
        return await self.client.get(path, **parts)  # type: ignore[arg-type]  # handed through

    async def send(self, path: str, **fields: str) -> httpx.Response:
        """Send a form, as the page's own one does."""
        return await self.client.post(path, data={"csrf": self.csrf, **fields})


@dataclasses.dataclass(frozen=True)
class Pages:
    """An application with pages."""

    api: Served
    ports: PagePorts

    async def visitor(self, *scopes: Scope, name: str = "sre") -> Visitor:
        """Log somebody in."""
        client = self.api.client()
        secret = await self.api.tokens.create(name, scopes or list(Scope))
        answered = await client.post("/ui/login", data={"token": secret, "next": "/ui/"})
        assert answered.status_code == 303, answered.text
        shown = await client.get("/ui/runs")
        found = re.search(r'name="csrf" value="([0-9a-f]{64})"', shown.text)
        assert found is not None, shown.text
        return Visitor(client, found[1])


def pages_over(
    database: Database, clock: SettableClock, standings: Sequence[Standing] = (), **changes: object
) -> Pages:
    """Serve pages over a database; changes replace ports of the desk."""
    api = served(database, clock, **changes)

    async def stand() -> Sequence[Standing]:
        return standings

    ports = PagePorts(
        desk=api.desk,
        sessions=SessionBook(database, clock),
        runs=api.desk.lookups,  # type: ignore[arg-type]  # the ledger's look-ups are both
        lookups=PageLookups(database),
        standings=stand,
        currency=lambda: "EUR",
    )
    mount(api.app, ports)
    return Pages(api, ports)


async def found_leak(pages: Pages, *findings: Finding, **run: object) -> Run:
    """Store a run under way that has found a leak, or these: findings and issues number 1 and on."""
    ledger, started = SqlLedger(pages.api.database, pages.api.clock), a_run(**run)
    await ledger.open_run(started, ESTIMATE)
    await ledger.remember(started, [(CHECK, PROMPT)])
    await ledger.record(started, judged(*findings))
    return started


async def end(pages: Pages, run: Run, report: RunReport | None = None) -> None:
    """End it with a verdict."""
    told = report or a_report()
    ended_at = max(told.ended_at, run.started_at + dt.timedelta(seconds=9))
    await SqlLedger(pages.api.database, pages.api.clock).close_run(
        dataclasses.replace(told, run=run, ended_at=ended_at)
    )


def at(hours: float) -> dt.datetime:
    """Some hours after the first run of tests began."""
    return STARTED + dt.timedelta(hours=hours)
