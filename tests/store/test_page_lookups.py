"""Limits over time and progress, on SQLite and on PostgreSQL."""

import dataclasses

import pytest

from prober.domain.outcome import Outcome
from prober.domain.verdict import LimitMap
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.store.page_lookups import PageLookups, ScenarioProgress
from tests.support.evidence import a_probe, a_prompt
from tests.support.ledger import SettableClock
from tests.support.pages import at
from tests.support.reports import a_leak, a_report, a_run
from tests.support.stored import CHECK, ESTIMATE, PROMPT, judged, opened


@pytest.fixture
def lookups(database: Database) -> PageLookups:
    return PageLookups(database)


@pytest.fixture
def ledger(database: Database, clock: SettableClock) -> SqlLedger:
    return SqlLedger(database, clock)


async def ended(ledger: SqlLedger, number: int, limits: LimitMap) -> None:
    run = a_run(run_id=f"run-{number}", started_at=at(number))
    await ledger.open_run(run, ESTIMATE)
    await ledger.close_run(dataclasses.replace(a_report(), run=run, ended_at=at(number + 0.5), limits=limits))


async def test_limits_are_told_oldest_first(lookups: PageLookups, ledger: SqlLedger):
    """The latest so many, with what was advertised then; runs that found none have no point."""
    for number, first_wrong in enumerate((700, 710, None, 720)):
        await ended(ledger, number, LimitMap(first_wrong=first_wrong))
    points = await lookups.limits("staging", limit=2)
    assert [(point.run_id, point.first_wrong) for point in points] == [("run-1", 710), ("run-3", 720)]
    assert {point.context_tokens for point in points} == {1_048_576}
    assert {point.prefill_pool_tokens for point in points} == {681_280}
    assert await lookups.limits("nowhere") == ()


async def test_progress_counts_what_was_sent_and_judged(lookups: PageLookups, ledger: SqlLedger):
    """By scenario in their order; what is in flight is sent and not judged."""
    run = await opened(ledger)
    first = a_probe(label="calibration/0001", scenario="calibration")
    await ledger.remember(run, [(first, a_prompt())])
    await ledger.remember(run, [(CHECK, PROMPT)])
    await ledger.record(run, judged(a_leak()))
    assert await lookups.progress(run.run_id) == (
        ScenarioProgress(scenario="calibration", sent=1, judged={}),
        ScenarioProgress(scenario=CHECK.scenario, sent=1, judged={Outcome.VIOLATION: 1}),
    )
    assert await lookups.progress("run-9") == ()
