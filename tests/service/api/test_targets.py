"""Targets and coverage over the API."""

from typing import Any

import pytest

from prober.domain.account import Scope
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from tests.support.api import V1, Served, served
from tests.support.ledger import SettableClock
from tests.support.reports import a_campaign
from tests.support.stored import CHECK, PROMPT, finding_of, judged, opened

COVERAGE = f"{V1}/coverage"


async def coverage_of(api: Served, **filters: str) -> list[dict[str, Any]]:
    async with await api.caller(Scope.READ, name=f"reader-{len(await api.tokens.listed())}") as client:
        answered = await client.get(COVERAGE, params=filters)
    assert answered.status_code == 200, answered.text
    return answered.json()["items"]


async def test_targets_are_shown_without_address_and_credential(api: Served):
    """What is probed, as what, how much: nothing by which one could reach it."""
    async with await api.caller(Scope.READ) as client:
        (target,) = (await client.get(f"{V1}/targets")).json()["items"]
    assert target["name"] == "staging"
    assert target["tenants"] == ["alpha", "bravo"]
    assert target["scenarios"] == ["baseline", "seed_and_probe"]
    assert not {"url", "credential", "headers", "proxy"} & set(target)


async def test_targets_are_those_of_the_configuration_in_force(sqlite_database: Database, clock: SettableClock):
    """A reload shows at once."""
    campaigns = {"staging": a_campaign()}
    api = served(sqlite_database, clock, campaigns=lambda: campaigns)
    async with await api.caller(Scope.READ) as client:
        campaigns["production"] = a_campaign()
        assert len((await client.get(f"{V1}/targets")).json()["items"]) == 2


async def test_every_kind_of_fault_has_its_row(api: Served):
    """Never probed for is said so, with the scenarios that would."""
    (shown,) = await coverage_of(api)
    assert [row["kind"] for row in shown["kinds"]] == [kind.value for kind in FaultKind]
    assert {(row["last_at"], row["outcome"], row["clean"]) for row in shown["kinds"]} == {(None, None, 0)}
    assert all(row["scenarios"] for row in shown["kinds"])


async def test_coverage_tells_when_and_with_what_bound(api_anywhere: Served):
    """One clean probe excludes a rate above 0.95, of this build alone."""
    ledger = SqlLedger(api_anywhere.database, api_anywhere.clock)
    run = await opened(ledger)
    await ledger.remember(run, [(CHECK, PROMPT)])
    await ledger.record(run, judged(finding_of(Outcome.CLEAN, Reason.REJECTED_AS_DUE)))

    (shown,) = await coverage_of(api_anywhere, target="staging")
    assert shown["build"] == run.campaign.target.build
    probed = [row for row in shown["kinds"] if row["last_at"]]
    assert probed
    assert {(row["clean"], row["outcome"]) for row in probed} == {(1, "clean")}
    assert [row["leak_rate_upper95"] for row in probed] == [pytest.approx(0.95)] * len(probed)
    (other,) = await coverage_of(api_anywhere, build="another")
    assert [row for row in other["kinds"] if row["last_at"]] == []


async def test_no_target_of_that_name_is_404(api: Served):
    """A misspelt one must not look like one that was never probed."""
    async with await api.caller(Scope.READ) as client:
        assert (await client.get(COVERAGE, params={"target": "production"})).status_code == 404
        assert (await client.get(COVERAGE, params={"build": "a\0b"})).status_code == 422
        assert (await client.get(COVERAGE, params={"builds": "a"})).status_code == 422
