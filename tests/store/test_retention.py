"""What retention deletes, what it keeps, and that a year's load stays bounded; on SQLite and PostgreSQL."""

import asyncio
import dataclasses
import datetime as dt
import time

import pytest
import sqlalchemy as sa

from prober.domain.campaign import Trigger
from prober.domain.finding import Finding, Reason
from prober.domain.issue import IssueState
from prober.domain.job import JobRequest, JobState
from prober.domain.outcome import Outcome
from prober.store import prunable as prunable_module
from prober.store import retention as retention_module
from prober.store.database import Database
from prober.store.jobs import JobQueue
from prober.store.retention import Limits, Pruning, Retention
from prober.store.schema.issues import issues
from prober.store.schema.runs import findings, observations, probes, runs, sightings
from prober.store.schema.vault import Pruned, vault_excerpts
from prober.store.schema.work import jobs
from prober.store.slots import SlotBook
from tests.support.evidence import a_finding
from tests.support.ledger import SettableClock
from tests.support.reports import a_leak, a_report, a_run, a_sighting
from tests.support.vault import EXCERPTS, Archive, answer, canary_of
from tests.support.year import RUNS_PER_DAY, Year, sizes_of

DAY = 86_400
LIMITS = Limits(
    observations=dt.timedelta(days=10),
    runs=dt.timedelta(days=20),
    findings=dt.timedelta(days=40),
    vault=dt.timedelta(days=5),
    max_bytes=1 << 40,
)
CLEAN = a_finding(Reason.SERVED, Outcome.CLEAN)
BUSY = a_finding(Reason.BUSY, Outcome.INCONCLUSIVE)


@pytest.fixture
def archive(database: Database, clock: SettableClock) -> Archive:
    return Archive(database, clock)


def retention(archive: Archive, **changes: object) -> Retention:
    limits = dataclasses.replace(LIMITS, **changes)
    return Retention(archive.database, archive.clock, limits, pause_seconds=0)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prunable_module, "BATCH", 3)
    monkeypatch.setattr(retention_module, "MEASURED_EVERY", 2)


async def rows(archive: Archive) -> dict[str, int]:
    """How many rows the tables of runs hold."""
    tables = (runs, probes, observations, findings, sightings, vault_excerpts)
    async with archive.database.read() as connection:
        return {
            table.name: (await connection.execute(sa.select(sa.func.count()).select_from(table))).scalar_one()
            for table in tables
        }


async def ended(archive: Archive, run_id: str, *answers: tuple[Finding, ...], keep: bool = False) -> None:
    """Store a run of one probe per group of findings, from its beginning to its end; its issues are settled."""
    run = await archive.run(run_id)
    for number, found in enumerate(answers):
        judgement = answer(number, *found)
        await archive.record(run, judgement)
        if keep:
            await archive.vault.keep(run, judgement, EXCERPTS)
    await archive.ledger.close_run(a_report(run=run, ended_at=archive.clock.now(), findings=()))
    await put_issues(archive, IssueState.RESOLVED)


async def test_each_kind_goes_at_its_age(archive: Archive):
    """Observations first, then runs with their canaries, grave findings with what explains them last."""
    await ended(archive, "quiet", (CLEAN, CLEAN), (CLEAN, BUSY))
    await ended(archive, "leak", (CLEAN, a_leak()), (CLEAN,), keep=False)
    seen = [await rows(archive)]
    for days in (11, 10, 20):
        archive.clock.advance(days * DAY)
        await retention(archive).prune()
        seen.append(await rows(archive))

    assert [(each["runs"], each["probes"], each["observations"], each["findings"]) for each in seen] == [
        (2, 4, 4, 7),
        (2, 4, 1, 3),
        (1, 1, 1, 2),
        (0, 0, 0, 0),
    ]


async def test_foreign_text_goes_at_its_own_age(archive: Archive):
    """It belongs to others: it goes first, and its finding stays."""
    numbers = await archive.caught()
    archive.clock.advance(4 * DAY)
    assert (await retention(archive).prune()).rows[Pruned.VAULT] == 0
    archive.clock.advance(2 * DAY)
    assert (await retention(archive).prune()).rows[Pruned.VAULT] == len(EXCERPTS)

    assert await archive.lookups.finding(numbers[Reason.FOREIGN_CANARY]) is not None


async def test_running_runs_are_never_pruned(archive: Archive):
    """A run that is not over keeps everything, however old, whatever the size."""
    run = await archive.run()
    await archive.record(run, answer(1))
    await archive.record(run, answer(2, CLEAN))
    before = await rows(archive)
    archive.clock.advance(400 * DAY)

    done = await retention(archive, max_bytes=1).prune()

    assert await rows(archive) == before
    assert done.is_above_cap


async def put_issues(archive: Archive, state: IssueState) -> None:
    """Let every issue that the ledger opened stand so."""
    async with archive.database.begin() as connection:
        await connection.execute(sa.update(issues).values(state=state))


async def open_issue(archive: Archive, finding: Finding) -> None:
    """An issue about findings such as this one."""
    now = archive.clock.now()
    issue = {
        "fingerprint": "f" * 64,
        "target": a_run().campaign.target.name,
        "detector": finding.detector,
        "reason": finding.reason,
        "outcome": finding.outcome,
        "state": IssueState.OPEN,
        **dict.fromkeys(("first_seen", "last_seen", "opened_at"), now),
        **dict.fromkeys(("count", "reopened", "evidence_bits", "last_finding_id"), 0),
        "kinds": [],
        "scenarios": [],
        **dict.fromkeys(("last_run_id", "changed_by", "note"), ""),
    }
    async with archive.database.begin() as connection:
        await connection.execute(sa.insert(issues).values(issue))


@pytest.mark.parametrize("state", [IssueState.OPEN, IssueState.ACKNOWLEDGED, IssueState.SUPPRESSED])
async def test_findings_of_unsettled_issues_are_never_pruned(archive: Archive, state: IssueState):
    """They stay with run, probe and observation until somebody settles the issue; then they go."""
    await ended(archive, "leak", (CLEAN, a_leak()))
    await put_issues(archive, state)
    before = await rows(archive)
    archive.clock.advance(400 * DAY)

    done = await retention(archive, max_bytes=1).prune()

    assert await rows(archive) == before
    assert done.is_above_cap
    await put_issues(archive, IssueState.RESOLVED)
    assert (await retention(archive).prune()).rows[Pruned.FINDINGS] == 1
    assert set((await rows(archive)).values()) == {0}


async def test_inconclusive_findings_of_an_unsettled_issue_stay(archive: Archive):
    """An issue may be about what could not be judged."""
    await ended(archive, "busy", (CLEAN, BUSY))
    await open_issue(archive, BUSY)
    archive.clock.advance(400 * DAY)
    await retention(archive).prune()

    assert (await rows(archive))["findings"] == 2


async def test_who_sent_a_sighted_canary_stays_as_long_as_its_finding(archive: Archive):
    """A finding whose donor nobody can name is worth little: the donor's probe outlives its own run's age."""
    donor = answer(77, CLEAN)
    canary = donor.evidence.prompt.canary
    run = await archive.run("donor")
    await archive.record(run, donor)
    await archive.record(run, answer(78, CLEAN))
    await archive.ledger.close_run(a_report(run=run, ended_at=archive.clock.now(), findings=()))
    archive.clock.advance(15 * DAY)
    await ended(archive, "leak", (a_leak(sightings=(a_sighting(canary),)),))
    archive.clock.advance(10 * DAY)
    await retention(archive).prune()

    assert (await archive.lookups.whose(canary)).run_id == "donor"
    assert await archive.lookups.whose(canary_of(78)) is None
    archive.clock.advance(40 * DAY)
    await retention(archive).prune()
    assert await archive.lookups.whose(canary) is None


async def test_a_look_up_knows_what_was_pruned(archive: Archive):
    """An unknown canary was never sent, or was sent before a date that the database remembers."""
    await ended(archive, "old", (CLEAN,))
    sent_at = archive.clock.now()
    assert await archive.lookups.canaries_pruned_before() is None
    archive.clock.advance(30 * DAY)
    await ended(archive, "new", (CLEAN,))
    await retention(archive).prune()
    first = await archive.lookups.canaries_pruned_before()
    await retention(archive).prune()

    assert first == sent_at
    assert await archive.lookups.canaries_pruned_before() == first


async def test_above_its_size_the_oldest_go_first_and_findings_last(archive: Archive, monkeypatch: pytest.MonkeyPatch):
    """What is too much goes before its age: first what came back, at the very end what was found."""
    monkeypatch.setattr(prunable_module, "BATCH", 20)
    monkeypatch.setattr(retention_module, "MEASURED_EVERY", 1)
    await Year(archive.database, archive.clock, probes_per_run=8).pass_days(1)
    await ended(archive, "leak", (CLEAN, a_leak()))
    archive.clock.advance(1)
    full = await retention(archive).prune()
    assert sum(full.rows.values()) == 0

    some = await retention(archive, max_bytes=full.bytes_after * 3 // 4).prune()
    left = await rows(archive)
    assert some.rows[Pruned.OBSERVATIONS] > 0
    assert some.rows[Pruned.FINDINGS] == 0
    assert left["runs"] == RUNS_PER_DAY + 1
    assert left["probes"] == 8 * RUNS_PER_DAY + 1
    assert 0 < left["observations"] < left["probes"]
    assert not some.is_above_cap

    most = await retention(archive, max_bytes=1).prune()
    assert most.is_above_cap
    assert most.rows[Pruned.FINDINGS] == 1
    assert (await rows(archive))["probes"] == 0


async def test_what_is_kept_is_stepped_over_in_batches(archive: Archive, small_batches: None):
    """Many kept rows before those to delete hold nothing up, and no batch is larger than allowed."""
    await ended(archive, "leak", *([(CLEAN, a_leak())] * 8))
    await ended(archive, "quiet", *([(CLEAN,)] * 8))
    archive.clock.advance(25 * DAY)
    done = await retention(archive).prune()

    assert done.rows == {Pruned.OBSERVATIONS: 8, Pruned.RUNS: 9, Pruned.FINDINGS: 0, Pruned.VAULT: 0}
    assert (await rows(archive))["probes"] == 8
    archive.clock.advance(25 * DAY)
    await retention(archive).prune()
    assert set((await rows(archive)).values()) == {0}


async def test_a_rehearsal_deletes_nothing_and_foretells_what_age_takes(archive: Archive):
    """`--dry-run` counts what the next pruning deletes; rows that hang on others' leaving are foretold too."""
    await ended(archive, "quiet", (CLEAN,), (CLEAN, BUSY))
    archive.clock.advance(15 * DAY)
    before = await rows(archive)
    foretold = await retention(archive).rehearse()

    assert await rows(archive) == before
    assert foretold.rows == (await retention(archive).prune()).rows
    assert foretold.rows[Pruned.OBSERVATIONS] == 2


async def test_jobs_that_ended_go_with_runs(archive: Archive):
    """Jobs that wait or run stay; the queue's past is bounded like the rest."""
    now = archive.clock.now()
    job = {
        "target": "t",
        "trigger": a_run().trigger,
        "scenarios": [],
        "requested_by": "",
        "facts": {},
        "queued_at": now,
        "attempts": 0,
        "fence": 0,
        "note": "",
        "is_cancel_requested": False,
    }
    states = [JobState.QUEUED, JobState.MISSED, JobState.DONE]
    async with archive.database.begin() as connection:
        for state in states:
            await connection.execute(sa.insert(jobs).values({**job, "job_id": state.value, "state": state}))
    archive.clock.advance(25 * DAY)
    await retention(archive).prune()

    async with archive.database.read() as connection:
        assert (await connection.execute(sa.select(jobs.c.job_id))).scalars().all() == ["queued"]


async def test_a_slot_just_run_is_not_run_again_for_want_of_space(archive: Archive):
    """However large the database: jobs of the last day stand for their slots and idempotency keys; older ones go."""
    slots, queue = SlotBook(archive.database, archive.clock), JobQueue(archive.database, archive.clock, "one")
    slot = JobRequest(target="t", trigger=Trigger.SCHEDULE, slot="often/t/2026-09-01T12:00:00Z")
    asked = JobRequest(target="t", trigger=Trigger.ROLLOUT, requested_by="token", idempotency_key="build-7")
    known = [await slots.take(slot), await queue.enqueue(asked)]
    for _ in known:
        job = await queue.claim(["t"], dt.timedelta(seconds=60))
        assert job is not None
        await queue.settle(job, Outcome.CLEAN)
    async with archive.database.begin() as connection:
        # PostgreSQL dates jobs by its own clock.
        await connection.execute(sa.update(jobs).values(queued_at=archive.clock.now(), ended_at=archive.clock.now()))
    archive.clock.advance(DAY - 60)
    await retention(archive, max_bytes=1).prune()

    assert await slots.take(slot) is None
    assert (await queue.enqueue(asked)).job_id == known[1].job_id
    archive.clock.advance(120)
    await retention(archive, max_bytes=1).prune()
    assert await queue.listed() == ()


async def test_several_replicas_prune_at_once(archive: Archive, small_batches: None):
    """Nothing fails, nothing is left."""
    await ended(archive, "quiet", *([(CLEAN,)] * 20))
    archive.clock.advance(25 * DAY)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(retention(archive).prune())
    await retention(archive).prune()

    assert set((await rows(archive)).values()) == {0}


@pytest.mark.slow
async def test_writers_hardly_wait_while_much_is_pruned(archive: Archive):
    """Batches are short and leave gaps: a run's own writes come through within a fraction of the busy time-out."""
    year = Year(archive.database, archive.clock, probes_per_run=20)
    await year.pass_days(20)
    archive.clock.advance(100 * DAY)
    pruning = asyncio.create_task(Retention(archive.database, archive.clock, LIMITS).prune())
    waits = []
    number = 0
    while not pruning.done():
        number += 1
        began = time.monotonic()
        await archive.run(f"meanwhile-{number}")
        waits.append(time.monotonic() - began)
        await asyncio.sleep(0.01)
    done: Pruning = await pruning

    assert done.rows[Pruned.RUNS] > 15_000
    assert len(waits) > 20
    assert max(waits) < 2


async def vacuum(database: Database) -> None:
    """What autovacuum does within a month, and has no time for within seconds."""
    if database.kind == "postgresql":
        async with database._pool.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            await connection.exec_driver_sql("VACUUM")


@pytest.mark.slow
async def test_a_years_load_stays_bounded(archive: Archive):
    """Half-hourly runs of a year, pruned every five days: rows and bytes stop growing at the ages."""
    year = Year(archive.database, archive.clock, probes_per_run=4)
    sizes = []
    for _ in range(12):
        for _ in range(6):
            await year.pass_days(5)
            await retention(archive).prune()
        await vacuum(archive.database)
        sizes.append(await sizes_of(archive.database))

    settled, later = sizes[3], sizes[4:]
    assert year.runs == 12 * 30 * 48
    for each in later:
        assert each.rows <= settled.rows * 1.02
        assert each.file_bytes <= settled.file_bytes * 1.10
    assert settled.rows > 10_000
