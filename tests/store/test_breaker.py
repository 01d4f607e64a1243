"""How a target's latest runs went, as the ledger tells it."""

import dataclasses
import datetime as dt

import pytest

from prober.domain.answer import Answer
from prober.domain.breaker import RunHealth
from prober.domain.campaign import Trigger
from prober.domain.verdict import Spending
from prober.plan.breaker import DOWN_ANSWERS, MOST_RUNS
from prober.store.breaker import HealthRecord
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from tests.support.evidence import a_probe
from tests.support.ledger import SettableClock
from tests.support.reports import a_campaign, a_report, a_run
from tests.support.stored import PROMPT, judged


@pytest.fixture
def ledger(database: Database, clock: SettableClock) -> SqlLedger:
    return SqlLedger(database, clock)


@pytest.fixture
def health(database: Database) -> HealthRecord:
    return HealthRecord(database)


async def ran(
    ledger: SqlLedger,
    clock: SettableClock,
    run_id: str,
    *answers: Answer,
    is_ended: bool = True,
    target: str = "staging",
) -> dt.datetime:
    """Store a run whose probes were answered so; give its end."""
    campaign = a_campaign()
    campaign = dataclasses.replace(campaign, target=dataclasses.replace(campaign.target, name=target))
    clock.advance(60)
    run = a_run(run_id=run_id, campaign=campaign, trigger=Trigger.SCHEDULE, started_at=clock.now())
    await ledger.open_run(run, Spending())
    for number, answer in enumerate(answers):
        probe = a_probe(label=f"x/{number}")
        await ledger.remember(run, [(probe, PROMPT)])
        await ledger.record(run, judged(probe=probe, answer=answer))
    clock.advance(60)
    if is_ended:
        await ledger.close_run(a_report(run=run, ended_at=clock.now(), findings=()))
    return clock.now()


async def test_a_run_of_nothing_but_errors_has_not_answered(
    ledger: SqlLedger, health: HealthRecord, clock: SettableClock
):
    """One answer of any other kind is enough, wherever it stands among errors; newest run first."""
    first = await ran(ledger, clock, "1", Answer.HANG, Answer.REJECTED_OK, Answer.SERVER_ERROR)
    second = await ran(ledger, clock, "2", *sorted(DOWN_ANSWERS, key=lambda answer: answer.value))

    assert await health.latest("staging") == (
        RunHealth(ended_at=second, has_answered=False),
        RunHealth(ended_at=first, has_answered=True),
    )


async def test_runs_that_tell_nothing_are_left_out(ledger: SqlLedger, health: HealthRecord, clock: SettableClock):
    """Neither one without a single observation (no budget, stopped), nor one that goes on, nor another target's."""
    ended = await ran(ledger, clock, "1", Answer.UNREACHABLE)
    await ran(ledger, clock, "2")
    await ran(ledger, clock, "3", Answer.SERVED_FULL, is_ended=False)
    await ran(ledger, clock, "4", Answer.SERVED_FULL, target="other")

    assert await health.latest("staging") == (RunHealth(ended_at=ended, has_answered=False),)
    assert await health.latest("never") == ()


async def test_only_as_many_runs_as_the_decision_asks_for_are_read(
    ledger: SqlLedger, health: HealthRecord, clock: SettableClock
):
    """A long history costs no more than a short one."""
    for number in range(MOST_RUNS + 2):
        await ran(ledger, clock, str(number), Answer.UNREACHABLE)

    assert len(await health.latest("staging")) == MOST_RUNS
