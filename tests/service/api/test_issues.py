"""Issues over the API."""

import datetime as dt
from typing import Any

import httpx
import pytest

from prober.domain.account import Scope
from prober.domain.finding import Reason
from prober.store.ledger import SqlLedger
from tests.support.api import V1, Served
from tests.support.reports import a_leak
from tests.support.stored import CHECK, PROMPT, judged, opened

ISSUES = f"{V1}/issues"


@pytest.fixture
async def found(api_anywhere: Served) -> Served:
    """Two issues of one target."""
    ledger = SqlLedger(api_anywhere.database, api_anywhere.clock)
    run = await opened(ledger)
    await ledger.remember(run, [(CHECK, PROMPT)])
    await ledger.record(run, judged(a_leak(), a_leak(reason=Reason.LATE_ECHO)))
    return api_anywhere


async def listed(client: httpx.AsyncClient, **filters: str) -> list[dict[str, Any]]:
    answered = await client.get(ISSUES, params=filters)
    assert answered.status_code == 200, answered.text
    return answered.json()["items"]


async def number(client: httpx.AsyncClient) -> int:
    """Of one issue."""
    return (await listed(client))[0]["id"]


def until(found: Served, **after: float) -> str:
    return (found.clock.now() + dt.timedelta(**after)).isoformat()


async def test_findings_of_one_kind_are_one_issue(found: Served):
    """With first and last seen, count and the latest finding."""
    async with await found.caller(Scope.READ) as client:
        issues = await listed(client)
    assert {issue["reason"] for issue in issues} == {"foreign_canary", "late_echo"}
    assert {(issue["state"], issue["count"], issue["outcome"]) for issue in issues} == {("open", 1, "violation")}
    assert {issue["last_run_id"] for issue in issues} == {"run-1"}


async def test_issues_are_listed_page_by_page_and_filtered(found: Served):
    """By target, state and outcome."""
    async with await found.caller(Scope.READ, Scope.ADMIN) as client:
        first = (await client.get(ISSUES, params={"limit": "1"})).json()
        second = (await client.get(ISSUES, params={"limit": "1", "cursor": first["next"]})).json()
        ids = [first["items"][0]["id"], second["items"][0]["id"]]
        assert second["next"] is None
        await client.post(f"{ISSUES}/{ids[0]}/resolve", json={})
        assert [issue["id"] for issue in await listed(client, state="resolved")] == ids[:1]
        assert [issue["id"] for issue in await listed(client, state="open", outcome="violation")] == ids[1:]
        assert await listed(client, target="production") == []
    assert ids == sorted(ids, reverse=True)


@pytest.mark.parametrize(("step", "state"), [("acknowledge", "acknowledged"), ("resolve", "resolved")])
async def test_a_step_is_taken_in_the_tokens_name(found: Served, step: str, state: str):
    """Who did it and what was said stand on the issue and in its history."""
    async with await found.caller(Scope.READ, Scope.ADMIN, name="oncall") as client:
        path = f"{ISSUES}/{await number(client)}"
        taken = (await client.post(f"{path}/{step}", json={"note": "on it\nsee 4711"})).json()
        shown = (await client.get(path)).json()
    assert (taken["state"], taken["changed_by"], taken["note"]) == (state, "oncall", "on it\nsee 4711")
    assert taken.items() <= shown.items()
    assert [(entry["change"], entry["by"]) for entry in shown["history"]] == [("opened", ""), (state, "oncall")]


async def test_a_suppression_ends_by_itself(found: Served):
    """Suppressed until the date, and open again from then on."""
    async with await found.caller(Scope.READ, Scope.ADMIN) as client:
        path = f"{ISSUES}/{await number(client)}"
        wish = {"until": until(found, days=30), "note": "accepted by the owner"}
        taken = (await client.post(f"{path}/suppress", json=wish)).json()
        assert taken["state"] == "suppressed"
        assert dt.datetime.fromisoformat(taken["suppressed_until"]) == found.clock.now() + dt.timedelta(days=30)
        found.clock.advance(30 * 86_400)
        assert (await client.get(path)).json()["state"] == "open"


async def test_a_note_changes_nothing_else(found: Served):
    """It is kept, and the issue stays open."""
    async with await found.caller(Scope.READ, Scope.ADMIN) as client:
        path = f"{ISSUES}/{await number(client)}"
        taken = (await client.post(f"{path}/note", json={"note": "looks like K1"})).json()
    assert (taken["state"], taken["note"]) == ("open", "looks like K1")


@pytest.mark.parametrize(
    ("wish", "where"),
    [
        ({"note": "why"}, "body.until"),
        ({"until": "2026-12-24", "note": "why"}, "body.until"),
        ({"until": "2026-12-24T00:00:00", "note": "why"}, "body.until"),
        ({"until": "tomorrow", "note": "why"}, "body.until"),
        ({"until": 1e300, "note": "why"}, "body.until"),
        ({"until": "2026-08-31T00:00:00Z", "note": "why"}, "body.until"),
        ({"until": "2026-09-01T12:00:00Z", "note": "why"}, "body.until"),
        ({"until": "2027-09-02T12:00:01Z", "note": "why"}, "body.until"),
        ({"until": "9999-12-31T23:59:59-14:00", "note": "why"}, "body.until"),
        ({"until": "0001-01-01T00:00:00+14:00", "note": "why"}, "body.until"),
        ({"until": "2026-10-01T00:00:00Z"}, "body.note"),
        ({"until": "2026-10-01T00:00:00Z", "note": ""}, "body.note"),
        ({"until": "2026-10-01T00:00:00Z", "note": "a\0b"}, "body.note"),
        ({"until": "2026-10-01T00:00:00Z", "note": "x" * 1_001}, "body.note"),
    ],
)
async def test_a_suppression_needs_an_end_and_a_reason(found: Served, wish: dict[str, object], where: str):
    """Within a year, with its time zone: what is silenced for ever, or nobody knows why, is forgotten."""
    async with await found.caller(Scope.READ, Scope.ADMIN) as client:
        issue_id = await number(client)
        answered = await client.post(f"{ISSUES}/{issue_id}/suppress", json=wish)
        assert (await listed(client, state="suppressed")) == []
    assert answered.status_code == 422
    assert [flaw["where"] for flaw in answered.json()["flaws"]] == [where]


@pytest.mark.parametrize(
    ("step", "body"),
    [
        ("acknowledge", {}),
        ("resolve", {}),
        ("suppress", {"until": "2026-10-01T00:00:00Z", "note": "why"}),
        ("note", {"note": "why"}),
    ],
)
async def test_nobodys_issue_is_404(api: Served, step: str, body: dict[str, str]):
    """For every step, and to look at."""
    async with await api.caller(Scope.READ, Scope.ADMIN) as client:
        assert (await client.post(f"{ISSUES}/4711/{step}", json=body)).status_code == 404
        assert (await client.get(f"{ISSUES}/4711")).status_code == 404
