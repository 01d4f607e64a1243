"""`run --estimate`: tokens, money, and whether the budgets would allow it."""

import json
import re

import pytest

from prober.cli.exits import Exit
from tests.support.command import Finished, Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile

PRICES = {"prompt": 1.0, "output": 10.0}


def configured(place: Workplace, url: str = "http://127.0.0.1:9/v1", **sections: object) -> Workplace:
    """A configuration with a section `budgets` at the top; the rest are the target's."""
    budgets = sections.pop("overall", {})
    place.configure(url, **sections)
    document = json.loads(place.config.read_text())
    place.config.write_text(json.dumps(document | {"budgets": budgets}))
    return place


def estimated(place: Workplace, *arguments: str) -> Finished:
    finished = place.invoke("run", "--estimate", *arguments)
    assert finished.code == 0, finished.said
    assert place.run_rows() == []
    return finished


def test_money_is_told_where_there_are_prices(place: Workplace):
    """At the target's price, in the currency of the configuration; without prices nothing is said of money."""
    priced = estimated(configured(place, prices=PRICES, overall={"currency": "EUR"})).said
    free = estimated(configured(place)).said

    (tokens,) = re.findall(r"14 requests, ([\d,]+) tokens, ", priced)
    (money,) = re.findall(r"tokens, ([\d.]+) EUR", priced)
    output = 14 * 64
    prompt = int(tokens.replace(",", "")) - output
    assert float(money) == pytest.approx((prompt * 1.0 + output * 10.0) / 1_000_000)
    assert " EUR within the run's caps and all budgets now" in priced
    assert "EUR" not in free
    assert "within the run's caps and all budgets now" in free


def test_every_cap_that_would_be_passed_is_named(place: Workplace):
    """The run's own, the target's, each tenant's and that of all targets: what is left, and when it frees up."""
    said = estimated(
        configured(
            place,
            prices=PRICES,
            max_run_requests=5,
            budgets={"day": {"tokens": 20_000}, "tenant_hour": {"requests": 2}},
            overall={"day": {"money": 0.01}},
        ),
        "--max-tokens",
        "100",
    ).said

    assert "would pass the run's cap of 100 tokens" in said
    assert "would pass the run's cap of 5 requests" in said
    assert "would pass the cap of 20,000 tokens per day for target hostile: 20,000 left" in said
    assert "would pass the cap of 2 requests per hour for tenant alpha on target hostile: 2 left" in said
    assert "would pass the cap of 0.01 money per day for all targets: 0.01 left" in said
    assert "within" not in said


async def test_runs_share_what_the_estimate_is_held_against(place: Workplace):
    """What one run spent is missing at the next estimate and the next run, which ends where the budget does."""
    llm = FakeLlm()
    async with hostile(llm.handler()) as server:
        configured(place, f"http://127.0.0.1:{server.port}/v1", budgets={"day": {"requests": 20}})
        first = await place.invoke_beside("run")
        sent = len(llm.prompts)
        asked = await place.invoke_beside("run", "--estimate")
        second = await place.invoke_beside("run")

    assert first.code == Exit.CLEAN
    assert f"would pass the cap of 20 requests per day for target hostile: {20 - sent:,} left" in asked.said
    assert second.code == Exit.UNDECIDED
    assert (
        f"budget: the estimate would pass the cap of 20 requests per day for target hostile: {20 - sent}" in second.said
    )
    assert "budget_exhausted" in second.said
    assert len(llm.prompts) == 20
    assert place.rows("SELECT SUM(requests) FROM spending") == [(20,)]


@pytest.mark.parametrize(("budgets", "code"), [({}, 0), ({"day": {"tokens": 5}}, Exit.USAGE)])
def test_the_database_is_asked_only_where_something_is_bounded(place: Workplace, budgets: dict, code: int):
    """An estimate without budgets needs no database; with them, one that is missing is said, not passed over."""
    configured(place, budgets=budgets)
    for path in place.folder.glob("prober.db*"):
        path.unlink()

    finished = place.invoke("run", "--estimate")

    assert finished.code == code
    assert ("prober db upgrade" in finished.said) == bool(budgets)
