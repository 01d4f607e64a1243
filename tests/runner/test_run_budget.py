"""Budgets that runs share, kept by the runner: reserved before each wave, settled after it."""

import asyncio
import dataclasses
import datetime as dt
from collections.abc import Mapping

import pytest

from prober.domain.budget import Cap, Expense, Price, Reservation, Shortage, Unit, Window
from prober.domain.campaign import Run
from prober.domain.errors import LedgerError
from prober.domain.finding import Reason
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.verdict import RunReport, Spending
from prober.plan.budgets import Entry, shortages
from prober.runner.run import execute
from tests.support.ports import RecordedScenario, World, small_run

NOON = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)


class MemoryBudget:
    """A budget in memory; every step goes into the world's journal. `entries` holds what counts."""

    def __init__(self, world: World, *caps: Cap, fails_at: str = "") -> None:
        self.world = world
        self.caps = caps
        self.fails_at = fails_at
        self.entries: dict[str, Spending] = {}
        self.granted: list[Mapping[str, Spending]] = []
        self.settled: list[Mapping[str, Spending]] = []

    async def shortages(self, run: Run, wanted: Mapping[str, Spending]) -> tuple[Shortage, ...]:
        self._enter("shortages")
        return self._short(run, wanted)

    async def reserve(self, run: Run, wanted: Mapping[str, Spending]) -> Reservation | tuple[Shortage, ...]:
        self._enter("reserve")
        short = self._short(run, wanted)
        if short:
            return short
        self._add(wanted, 1)
        self.granted.append(wanted)
        expenses = {tenant: Expense(spending=spending) for tenant, spending in wanted.items()}
        return Reservation(target=run.campaign.target.name, hour=NOON, expenses=expenses)

    async def settle(self, reservation: Reservation, spent: Mapping[str, Spending]) -> None:
        self._enter("settle")
        self._add({tenant: expense.spending for tenant, expense in reservation.expenses.items()}, -1)
        self._add(spent, 1)
        self.settled.append(spent)

    @property
    def total(self) -> Spending:
        return sum(self.entries.values(), Spending())

    def _enter(self, step: str) -> None:
        self.world.journal.append((step, ""))
        if self.fails_at == step:
            raise LedgerError("The database failed.")

    def _add(self, amounts: Mapping[str, Spending], sign: int) -> None:
        for tenant, one in amounts.items():
            signed = Spending(
                requests=sign * one.requests,
                prompt_tokens=sign * one.prompt_tokens,
                output_tokens=sign * one.output_tokens,
            )
            self.entries[tenant] = self.entries.get(tenant, Spending()) + signed

    def _short(self, run: Run, wanted: Mapping[str, Spending]) -> tuple[Shortage, ...]:
        target = run.campaign.target.name
        entries = [
            Entry(target=target, tenant=tenant, hour=NOON, expense=Expense(spending=spending))
            for tenant, spending in self.entries.items()
        ]
        priced = {tenant: Price().expense(spending) for tenant, spending in wanted.items()}
        return shortages(self.caps, entries, target, priced, NOON)


async def run_within(world: World, budget: MemoryBudget, *scenarios: str, **changes: object) -> RunReport:
    ports = dataclasses.replace(world.ports, budget=budget)
    return await execute(small_run(*scenarios, **changes), world.instruments, ports)


def daily(unit: Unit, limit: int, **changes: object) -> Cap:
    return dataclasses.replace(Cap(window=Window.DAY, unit=unit, limit=limit, target="small"), **changes)


async def test_every_wave_is_reserved_before_it_is_sent_and_settled_after_it():
    """At each send the reservation of its wave stands; in the end the budget holds what the report says was spent."""
    world = World()
    budget = MemoryBudget(world)

    report = await run_within(world, budget, "seed_and_probe")

    open_waves = 0
    for event, _ in world.journal:
        open_waves += {"reserve": 1, "settle": -1}.get(event, 0)
        assert 0 <= open_waves <= 1
        assert event not in {"send", "remember"} or open_waves == 1
    assert open_waves == 0
    assert budget.total == report.spent
    assert {name for wave in budget.settled for name in wave} == {"alpha", "bravo"}
    for granted, settled in zip(budget.granted, budget.settled, strict=True):
        assert granted.keys() == settled.keys()
        assert all(settled[name].tokens <= granted[name].tokens for name in granted)


async def test_a_wave_that_would_pass_a_cap_is_not_sent():
    """INCONCLUSIVE with the cap, what is left of it and when it frees up; what was spent stays below the cap."""
    world = World()
    budget = MemoryBudget(world, daily(Unit.TOKENS, 9_000))

    report = await run_within(world, budget, "baseline", "seed_and_probe")

    assert report.verdict.outcome is Outcome.INCONCLUSIVE
    assert Reason.BUDGET_EXHAUSTED in report.verdict.reasons
    (finding,) = [each for each in report.findings if each.reason is Reason.BUDGET_EXHAUSTED]
    left = 9_000 - budget.total.tokens
    assert f"would pass the cap of 9,000 tokens per day for target small: {left:,} left, up to " in finding.message
    assert finding.message.endswith("it frees up at 2026-09-02 00:00 UTC.")
    assert 0 < budget.total.tokens <= 9_000
    assert len(world.labels("send")) == report.spent.requests == report.verdict.probes


@pytest.mark.parametrize("limit", range(8))
async def test_requests_are_counted_to_the_last_one(limit: int):
    """With room for n requests, exactly n leave."""
    world = World()

    report = await run_within(world, MemoryBudget(world, daily(Unit.REQUESTS, limit or 1)), "baseline")

    assert len(world.labels("send")) == (limit or 1)
    assert report.verdict.outcome is Outcome.INCONCLUSIVE


async def test_one_tenants_cap_ends_the_run_too():
    """A comparison of two tenants with one of them gone would say nothing."""
    world = World()
    cap = daily(Unit.REQUESTS, 9, is_per_tenant=True)

    report = await run_within(world, MemoryBudget(world, cap), "seed_and_probe")

    (finding,) = [each for each in report.findings if each.reason is Reason.BUDGET_EXHAUSTED]
    assert "for tenant alpha on target small: 1 left, up to 2 needed" in finding.message


async def test_a_run_that_will_not_fit_says_so_at_its_start_and_begins():
    """Told before the first wave, once; the estimate is an upper figure, so the run may still come to its end."""
    world = World()
    fitting = await run_within(World(), MemoryBudget(World()), "baseline")
    cap = daily(Unit.TOKENS, fitting.estimate.tokens - 1)

    report = await run_within(world, MemoryBudget(world, cap), "baseline")

    assert fitting.spent.tokens < cap.limit
    events = [event for event, _ in world.journal]
    assert events.index("run_started") < events.index("budget_short") < events.index("wave_started")
    (short,) = world.telemetry.shortages
    assert short.standing.cap == cap
    assert short.wanted == report.estimate.tokens > cap.limit
    assert report.verdict.outcome is Outcome.CLEAN


async def test_a_run_that_fits_says_nothing():
    """No warning without a cause."""
    world = World()

    await run_within(world, MemoryBudget(world, daily(Unit.TOKENS, 10**9)), "baseline")

    assert world.labels("budget_short") == []


async def test_an_interrupted_wave_stays_reserved():
    """What the target made of it is not known, so all of it counts as spent."""
    world = World()
    sent = asyncio.Event()

    async def hang(probe: Probe, prompt: Prompt) -> Observation:
        if len(world.labels("send")) == 3:
            sent.set()
            await asyncio.sleep(60)
        return world.llm.observe(probe, prompt)

    world.endpoint.respond = hang
    budget = MemoryBudget(world)
    running = asyncio.ensure_future(run_within(world, budget))
    async with asyncio.timeout(30):
        await sent.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert (len(budget.granted), len(budget.settled)) == (3, 2)
    settled = sum((spending for wave in budget.settled for spending in wave.values()), Spending())
    assert budget.total == settled + sum(budget.granted[-1].values(), Spending())


@pytest.mark.parametrize("fails_at", ["shortages", "reserve", "settle"])
async def test_without_its_book_nothing_more_is_sent(fails_at: str):
    """A database that fails is no leave to spend: the run is closed, and the fault raised."""
    world = World()

    with pytest.raises(LedgerError):
        await run_within(world, MemoryBudget(world, fails_at=fails_at))

    assert len(world.labels("send")) == (1 if fails_at == "settle" else 0)
    assert world.ledger.stored_runs["run-1"].outcome is Outcome.INCONCLUSIVE


async def test_a_runs_own_cap_on_requests_binds_before_the_request(monkeypatch: pytest.MonkeyPatch):
    """As that on tokens; the budget that all share is not even asked."""
    world = World()
    RecordedScenario(monkeypatch, waves=9)
    budget = MemoryBudget(world)

    report = await run_within(world, budget, "recorded", max_run_requests=10)

    assert len(world.labels("send")) == len(budget.granted) == 10
    (finding,) = [each for each in report.findings if each.reason is Reason.BUDGET_EXHAUSTED]
    assert "the run's cap of 10 requests: 0 left, up to 1 needed; the next run has a cap of its own." in finding.message
