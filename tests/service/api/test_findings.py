"""Findings over the API."""

import pytest

from prober.domain.account import Scope
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.store.ledger import SqlLedger
from tests.support.api import V1, Served
from tests.support.evidence import a_probe, a_prompt
from tests.support.reports import DONOR_CANARY, STRANGER_CANARY, a_leak, a_sighting
from tests.support.stored import CHECK, PROMPT, finding_of, judged, opened

FINDINGS = f"{V1}/findings"


@pytest.fixture
async def found(api_anywhere: Served) -> Served:
    """A leak with two sightings, of which one is known; a suspicion, an undecided and a clean finding."""
    ledger = SqlLedger(api_anywhere.database, api_anywhere.clock)
    run = await opened(ledger)
    donor = a_probe(label="seed_and_probe/0001")
    await ledger.remember(run, [(donor, a_prompt(canary=DONOR_CANARY)), (CHECK, PROMPT)])
    api_anywhere.clock.advance(5)
    leak = a_leak(
        sightings=(a_sighting(), a_sighting(STRANGER_CANARY)),
        kinds=(FaultKind.REJECTED_BUT_ADMITTED,),
        evidence_bits=36.64,
    )
    await ledger.record(
        run,
        judged(
            leak,
            finding_of(Outcome.SUSPECT, Reason.PREFILL_TOO_FAST),
            finding_of(Outcome.INCONCLUSIVE, Reason.BUSY),
            finding_of(Outcome.CLEAN),
        ),
    )
    return api_anywhere


async def reasons(api: Served, **filters: str) -> list[str]:
    """Of the findings listed."""
    async with await api.caller(Scope.READ, name=f"reader-{len(await api.tokens.listed())}") as client:
        answered = await client.get(FINDINGS, params=filters)
    assert answered.status_code == 200, answered.text
    return [item["reason"] for item in answered.json()["items"]]


async def test_findings_are_listed_newest_first(found: Served):
    """Suspicions and violations unless more is wanted: CLEAN ones are thousands."""
    assert await reasons(found) == ["prefill_too_fast", "foreign_canary"]
    assert await reasons(found, worse_than="suspect") == ["foreign_canary"]
    assert await reasons(found, worse_than="clean") == ["busy", "prefill_too_fast", "foreign_canary"]


async def test_findings_are_filtered(found: Served):
    """By target, run and reason; what fits none is an empty list."""
    assert await reasons(found, reason="prefill_too_fast") == ["prefill_too_fast"]
    assert await reasons(found, run_id="run-1", target="staging", reason="foreign_canary") == ["foreign_canary"]
    assert await reasons(found, run_id="run-2") == []
    assert await reasons(found, target="production") == []


async def test_findings_are_read_page_by_page(found: Served):
    """`next` leads on until it is null."""
    async with await found.caller(Scope.READ) as client:
        first = (await client.get(FINDINGS, params={"limit": "1"})).json()
        second = (await client.get(FINDINGS, params={"limit": "1", "cursor": first["next"]})).json()
    assert [item["reason"] for item in first["items"] + second["items"]] == ["prefill_too_fast", "foreign_canary"]
    assert second["next"] is None


async def test_one_finding_says_whose_text_it_was(found: Served):
    """Canary, tenant, probe, run, and how long before; of a canary that this database never sent, no sender."""
    async with await found.caller(Scope.READ) as client:
        (_, leak) = (await client.get(FINDINGS)).json()["items"]
        shown = (await client.get(f"{FINDINGS}/{leak['id']}")).json()
    assert leak.items() <= shown.items()
    assert {"probe": CHECK.label, "is_confirmed": True, "kinds": ["K1"], "evidence_bits": 36.6}.items() <= shown.items()
    known, stranger = shown["sightings"]
    assert (known["canary"], known["sender"]["tenant"], known["sender"]["probe"]) == (
        str(DONOR_CANARY),
        "alpha",
        "seed_and_probe/0001",
    )
    assert (known["sender"]["run_id"], known["sender"]["seconds_before"]) == ("run-1", 5.0)
    assert (stranger["canary"], stranger["sender"]) == (str(STRANGER_CANARY), None)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/4711", 404),
        (f"/{2**31 - 1}", 404),
        (f"/{2**31}", 422),
        (f"/{2**80}", 422),
        ("/0", 422),
        ("/-1", 422),
        ("/1.5", 422),
        ("/a%00b", 422),
        ("?limit=0", 422),
        ("?limit=201", 422),
        ("?limit=a", 422),
        ("?cursor=0", 422),
        (f"?cursor={2**63}", 422),
        ("?run_id=a%00b", 422),
        ("?run_id=%F0%9F%92%A9", 422),
        ("?target=%ed%a0%80", 422),
        ("?target='%20OR%201=1--", 422),
        ("?reason=nothing", 422),
        ("?worse_than=worst", 422),
        ("?outcome=violation", 422),
        ("?limit=1&limit=2&limits=3", 422),
        (f"?target={'a' * 5000}", 422),
    ],
)
async def test_garbage_is_refused(api: Served, path: str, status: int):
    """404 for what is not there, 422 for what cannot be: numbers without end, NUL, unknown parameters; never 500."""
    async with await api.caller(Scope.READ) as client:
        answered = await client.get(FINDINGS + path)
    assert answered.status_code == status
    assert answered.headers["content-type"] == "application/problem+json"
    assert api.faults == []
