"""Reports over the API."""

import json

import pytest

from prober.domain.account import Scope
from prober.report.facts import facts_of
from prober.report.formats import FORMATS, MEDIA_TYPES
from prober.service.api.reports import Wanted
from prober.store.ledger import SqlLedger
from tests.support.api import V1, Served
from tests.support.reports import a_report
from tests.support.stored import ESTIMATE


async def ended(api: Served) -> str:
    """A run that has ended, by the command line."""
    ledger, report = SqlLedger(api.database, api.clock), a_report()
    await ledger.open_run(report.run, ESTIMATE)
    await ledger.close_run(report)
    return report.run.run_id


async def test_every_format_is_served_in_its_media_type(api: Served):
    """The same text as the command line's, and nothing that a browser would run."""
    run_id = await ended(api)
    stored = await api.desk.reports.report(run_id)
    async with await api.caller(Scope.READ) as client:
        for name, render in FORMATS.items():
            answered = await client.get(f"{V1}/runs/{run_id}/report", params={"format": name})
            assert (answered.status_code, answered.headers["content-type"]) == (200, MEDIA_TYPES[name])
            assert answered.text == render(facts_of(stored))
            assert "sandbox" in answered.headers["content-security-policy"]


def test_every_format_can_be_asked_for():
    """The parameter knows the registry."""
    assert Wanted.model_json_schema()["properties"]["format"]["enum"] == list(FORMATS)


async def test_what_counts_as_failure_is_the_callers_choice(api: Served):
    """As for `prober run`."""
    run_id = await ended(api)
    async with await api.caller(Scope.READ) as client:
        answered = await client.get(f"{V1}/runs/{run_id}/report", params={"fail_on": "suspect"})
    assert json.loads(answered.text)["verdict"]["fail_on"] == "suspect"


@pytest.mark.parametrize(("query", "status"), [({}, 404), ({"format": "pdf"}, 422), ({"colour": "red"}, 422)])
async def test_what_is_not_there_is_a_problem(query: dict[str, str], status: int, api: Served):
    """An unknown run, format or parameter."""
    async with await api.caller(Scope.READ) as client:
        answered = await client.get(f"{V1}/runs/run-9/report", params=query)
    assert answered.status_code == status
    assert answered.headers["content-type"] == "application/problem+json"


async def test_a_run_under_way_has_none(api: Served):
    """It has no verdict yet."""
    run = a_report().run
    await SqlLedger(api.database, api.clock).open_run(run, ESTIMATE)
    async with await api.caller(Scope.READ) as client:
        assert (await client.get(f"{V1}/runs/{run.run_id}/report")).status_code == 404
