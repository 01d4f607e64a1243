"""Health, readiness and metrics."""

import asyncio

import pytest

from prober.domain.account import Scope
from prober.service.api import health
from prober.store.database import Database
from tests.support.api import Served, ready, served
from tests.support.ledger import SettableClock


async def lacking() -> bool:
    return False


async def crashing() -> bool:
    raise RuntimeError("postgresql://prober:hunter2@db")


async def hanging() -> bool:
    await asyncio.sleep(60)
    return True


async def test_health_asks_nothing_else(sqlite_database: Database, clock: SettableClock):
    """The process lives while its loop turns: an outage of the database must not have it restarted."""
    api = served(sqlite_database, clock, readiness={"database": crashing})
    answered = await api.client().get("/healthz")
    assert (answered.status_code, answered.json()) == (200, {"alive": True})


async def test_readiness_names_the_parts_that_are_ready(api: Served):
    """200 where all are."""
    answered = await api.client().get("/readyz")
    assert (answered.status_code, answered.json()) == (200, {"ready": ["database", "scheduler", "key"]})


@pytest.mark.parametrize("check", [lacking, crashing, hanging])
async def test_readiness_names_the_part_that_lacks(
    sqlite_database: Database, clock: SettableClock, check: health.Check, monkeypatch: pytest.MonkeyPatch
):
    """503 where one says no, crashes or does not answer; by name, and never by what it raised."""
    monkeypatch.setattr(health, "CHECK_SECONDS", 0.05)
    api = served(sqlite_database, clock, readiness={"database": ready, "scheduler": check, "key": ready})
    answered = await api.client().get("/readyz")
    assert answered.status_code == 503
    assert answered.json()["not_ready"] == ["scheduler"]
    assert answered.json()["type"].endswith(":not-ready")
    assert "hunter2" not in answered.text


async def test_parts_are_asked_together(sqlite_database: Database, clock: SettableClock):
    """Three parts that wait for each other all pass: nobody's timeouts add up."""
    barrier = asyncio.Barrier(3)

    async def meet() -> bool:
        await barrier.wait()
        return True

    api = served(sqlite_database, clock, readiness={"database": meet, "scheduler": meet, "key": meet})
    assert (await api.client().get("/readyz")).status_code == 200


async def test_metrics_are_public_by_default(api: Served):
    """A scrape needs no token, in Prometheus text format 0.0.4."""
    answered = await api.client().get("/metrics")
    assert answered.status_code == 200
    assert answered.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answered.text == api.desk.exposition()


async def test_metrics_may_be_for_readers_alone(sqlite_database: Database, clock: SettableClock):
    """Names of targets and counts of findings are then for tokens with the scope read."""
    api = served(sqlite_database, clock, settings={"metrics_public": False})
    reader, runner = await api.caller(Scope.READ), await api.caller(Scope.RUN, name="runner")
    answers = [(await client.get("/metrics")).status_code for client in (api.client(), runner, reader)]
    assert answers == [401, 403, 200]
