"""Budgets and pacing, put together from settings, at work in whole runs."""

import json

from prober.domain.breaker import BreakerState
from prober.domain.campaign import Trigger
from prober.domain.finding import Reason
from prober.plan.breaker import breaker
from prober.store.breaker import HealthRecord
from prober.wiring.budgets import paces_of, tenants_of
from prober.wiring.campaigns import campaign_of
from prober.wiring.prober import open_budget, open_database, open_prober
from prober.wiring.system import SystemClock
from tests.support.command import Workplace
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile
from tests.wiring.test_prober import a_log, settings_of


async def test_spending_is_booked_counted_and_left(place: Workplace):
    """One run through everything: the book, the counters and the gauges say what the report says."""
    async with hostile(FakeLlm().handler()) as server:
        budgets = {"day": {"tokens": 1_000_000}, "tenant_day": {"requests": 100}}
        prices = {"prompt": 2.0, "output": 0.0}
        settings = settings_of(place.configure(f"http://127.0.0.1:{server.port}/v1", budgets=budgets, prices=prices))
        async with open_prober(settings, log=a_log(settings)[0]) as prober:
            report = await prober.run(campaign_of(settings, "hostile"), Trigger.MANUAL)
            text = prober.metrics.text()

    spent = report.spent
    ((requests, tokens, micros),) = place.rows(
        "SELECT SUM(requests), SUM(prompt_tokens + output_tokens), SUM(micros) FROM spending"
    )
    assert (requests, tokens, micros) == (spent.requests, spent.tokens, 2 * spent.prompt_tokens)
    left = 1_000_000 - spent.tokens
    assert f'prober_budget_left{{target="hostile",tenant="",unit="tokens",window="day"}} {left:.1f}' in text
    assert 'prober_budget_cap{target="hostile",tenant="bravo",unit="requests",window="day"} 100.0' in text
    assert 'prober_breaker_state{state="closed",target="hostile"} 1.0' in text
    counted = sum(
        float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("prober_spent_requests_total{")
    )
    assert counted == spent.requests


async def test_pacing_outlives_a_run(place: Workplace):
    """What the first run owes, the second one waits for: paces belong to the process, not to the run."""
    async with hostile(FakeLlm().handler()) as server:
        # The whole budget of a minute is 60,000 tokens, 6,000 at once; each run sends some 4,000 in calibration alone.
        settings = settings_of(place.configure(f"http://127.0.0.1:{server.port}/v1", tokens_per_minute=60_000))
        campaign = campaign_of(settings, "hostile", scenarios=["baseline"])
        async with open_prober(settings, log=a_log(settings)[0]) as prober:
            first = await prober.run(campaign, Trigger.MANUAL)
            level = prober.paces["hostile"]._of_target[0]._bucket.level
            text = prober.metrics.text()

    assert Reason.BUDGET_EXHAUSTED not in first.verdict.reasons
    assert level < 6_000
    waited = [
        float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith("prober_paced_seconds_total{")
    ]
    assert sum(waited) > 0


def test_every_target_has_its_pace_and_its_tenants(place: Workplace):
    """By name; rates as configured."""
    place.configure("http://127.0.0.1:9/v1", tokens_per_minute=6_000)
    document = json.loads(place.config.read_text())
    document["targets"]["other"] = document["targets"]["hostile"]
    place.config.write_text(json.dumps(document))
    settings = settings_of(place)

    assert list(paces_of(settings)) == ["hostile", "other"]
    assert tenants_of(settings) == {"hostile": ["alpha", "bravo"], "other": ["alpha", "bravo"]}


async def test_the_budget_can_be_asked_without_a_run(place: Workplace):
    """As `run --estimate` does."""
    settings = settings_of(place.configure("http://127.0.0.1:9/v1", budgets={"hour": {"tokens": 10}}))
    async with open_budget(settings) as budget:
        assert await budget.would_pass("hostile", {}) == ()


async def test_runs_against_a_dead_port_open_the_breaker_and_an_answer_closes_it(place: Workplace):
    """From the socket over the ledger to the decision: three real runs, one request each, then one that is served."""
    settings = settings_of(place.configure("http://127.0.0.1:9/v1"))
    async with open_prober(settings, log=a_log(settings)[0]) as prober:
        for _ in range(3):
            await prober.run(campaign_of(settings, "hostile"), Trigger.SCHEDULE)
    database = open_database(settings)
    try:
        health = HealthRecord(database)
        assert breaker(await health.latest("hostile"), SystemClock().now()).state is BreakerState.OPEN
        assert place.answers() == ["unreachable"] * 3

        async with hostile(FakeLlm().handler()) as server:
            settings = settings_of(place.configure(f"http://127.0.0.1:{server.port}/v1"))
            async with open_prober(settings, log=a_log(settings)[0]) as prober:
                await prober.run(campaign_of(settings, "hostile"), Trigger.MANUAL)
        assert breaker(await health.latest("hostile"), SystemClock().now()).state is BreakerState.CLOSED
    finally:
        await database.close()
