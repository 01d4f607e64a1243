"""The machine's clock is stepped back an hour in the middle of a run: on both databases nothing is lost or doubled."""

import asyncio
import dataclasses
import datetime as dt

import pytest
import structlog

from prober.config.schedules import ScheduleSettings
from prober.domain.campaign import Run
from prober.domain.finding import Reason
from prober.domain.job import Job, JobState, MissedReason
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.runner.run import execute
from prober.service.calendar import Calendar
from prober.service.slot_dealing import Dealer
from prober.store.database import Database
from prober.store.fencing import Claim
from prober.store.jobs import JobQueue
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from prober.store.rows import StoredRun
from prober.store.slots import SlotBook
from prober.store.switches import Switches
from tests.support.ledger import SettableClock
from tests.support.ports import World, small_run
from tests.support.reports import a_report

LEASE = dt.timedelta(seconds=60)
STEP = 900
HOUR = 3_600
ALL_OFF = Switches(stop=None, paused={})


class Uncounted:
    """Counts nothing."""

    def slot_queued(self, target: str) -> None:
        """Not here."""

    def slot_missed(self, target: str, reason: MissedReason) -> None:
        """Nor here."""

    def slots_dealt(self, lag: dt.timedelta) -> None:
        """Nor here."""


class Service:
    """Schedule, queue and ledger of one replica, and a second replica that would take over what looks lost."""

    def __init__(self, database: Database, clock: SettableClock) -> None:
        self.database = database
        self.clock = clock
        self.queue = JobQueue(database, clock, "one")
        self.other = JobQueue(database, clock, "two")
        settings = ScheduleSettings.model_validate({"every_seconds": STEP, "stagger_seconds": 0})
        calendar = Calendar.of("often", settings, "small", 0)
        slots = SlotBook(database, clock)
        self.dealer = Dealer(calendar, slots, clock, watcher=Uncounted(), log=structlog.get_logger())
        self.lookups = LedgerLookups(database, clock)

    async def claimed(self) -> Job | None:
        await self.dealer.deal(ALL_OFF)
        return await self.queue.claim(["small"], LEASE)

    async def run_of(self, job: Job, number: int) -> tuple[SqlLedger, Run]:
        """A run under a job, that starts now."""
        run = dataclasses.replace(small_run("seed_and_probe"), run_id=f"run-{number}", started_at=self.clock.now())
        return SqlLedger(self.database, self.clock, Claim.of(job)), run

    async def stored(self, run_id: str) -> StoredRun:
        found = await self.lookups.run(run_id)
        assert found is not None
        return found


@pytest.fixture
def service(database: Database, clock: SettableClock) -> Service:
    return Service(database, clock)


async def test_a_run_goes_on_keeps_its_lease_and_closes(service: Service):
    """The leak is stored, the end is not before the beginning, nobody takes the run over, each slot is run once."""
    await service.dealer.deal(ALL_OFF)
    service.clock.advance(STEP)
    job = await service.claimed()
    assert job is not None
    ledger, run = await service.run_of(job, 0)

    async def respond(probe: Probe, prompt: Prompt) -> Observation:
        if probe.label == "seed_and_probe/0001":
            service.clock.date -= dt.timedelta(seconds=HOUR)
            assert await service.other.reclaim_lost() == ()
            assert (await service.queue.extend(job, LEASE)).holder == "one"
        return world.llm.observe(probe, prompt)

    world = World(respond)
    world.llm.leaks = True
    ports = dataclasses.replace(world.ports, ledger=ledger, clock=service.clock)
    async with asyncio.timeout(30):
        report = await execute(run, world.instruments, ports)
    done = await service.queue.settle(job, report.verdict.outcome)

    assert service.clock.now() < run.started_at
    stored = await service.stored(run.run_id)
    assert stored.ended_at is not None
    assert stored.ended_at >= stored.started_at
    assert (stored.outcome, done.outcome) == (Outcome.VIOLATION, Outcome.VIOLATION)
    assert await service.lookups.findings(run_id=run.run_id, reason=Reason.FOREIGN_CANARY)

    slots = [job.request.slot]
    for _ in range(2 * HOUR // STEP):
        service.clock.advance(STEP)
        if (later := await service.claimed()) is not None:
            slots.append(later.request.slot)
            await service.queue.settle(later, Outcome.CLEAN)
    jobs = await service.queue.listed()
    assert {job.state for job in jobs} == {JobState.DONE}
    # An hour of slots after the one that was run; the hour that came twice is not dealt with twice.
    first = job.request.slot
    assert first is not None
    begun = dt.datetime.fromisoformat(first.rpartition("/")[2])
    expected = [begun + dt.timedelta(seconds=STEP * number) for number in range(1 + HOUR // STEP)]
    assert [dt.datetime.fromisoformat(str(slot).rpartition("/")[2]) for slot in slots] == expected


async def test_a_run_whose_process_died_is_closed_no_earlier_than_it_began(service: Service):
    """Under a job that is given back, and without one; a verdict that comes too late still takes its place."""
    service.clock.advance(STEP)
    await service.dealer.deal(ALL_OFF)
    service.clock.advance(STEP)
    job = await service.claimed()
    assert job is not None
    ledger, under_job = await service.run_of(job, 1)
    alone = dataclasses.replace(under_job, run_id="alone")
    await ledger.open_run(under_job, a_report().estimate)
    plain = SqlLedger(service.database, service.clock)
    await plain.open_run(alone, a_report().estimate)
    service.clock.date -= dt.timedelta(seconds=HOUR)

    assert (await service.queue.give_back(job, "gone")).state is JobState.QUEUED
    await plain.keep_alive(alone)
    service.clock.date += dt.timedelta(seconds=HOUR // 2)
    assert await plain.close_abandoned(dt.timedelta(seconds=HOUR // 2)) == ("alone",)

    for run in (under_job, alone):
        stored = await service.stored(run.run_id)
        assert stored.outcome is Outcome.INCONCLUSIVE
        assert stored.ended_at is not None
        assert stored.ended_at >= stored.started_at
