"""Waiting for a database: bounded, in order, and without writing anything twice."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.budget import Reservation
from prober.domain.campaign import Run
from prober.domain.errors import LeaseLostError, LedgerError, LedgerGoneError
from prober.domain.excerpt import Channel, Excerpt
from prober.domain.verdict import Spending
from prober.runner.ports import Unlimited
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.store.patience import RETRY_SECONDS, TELL_SECONDS, Patience, PatientBudget, PatientLedger, PatientVault
from prober.store.schema.issues import issues
from prober.store.schema.runs import findings, observations, probes, runs, sightings
from prober.store.schema.vault import vault_excerpts
from prober.store.vault import Vault
from tests.support.ledger import SettableClock
from tests.support.reports import a_leak, a_report, a_run
from tests.support.stored import CHECK, ESTIMATE, PROMPT, judged

SECONDS = 60.0


class Waits:
    """What a run's watcher heard."""

    def __init__(self) -> None:
        self.told: list[tuple[str, float]] = []
        self.back: list[float] = []

    def database_awaited(self, run: Run, why: str, seconds: float) -> None:
        self.told.append((why, seconds))

    def database_back(self, run: Run, seconds: float) -> None:
        self.back.append(seconds)


class Attempts:
    """Fails so often, then succeeds; `seen` holds what each attempt was told."""

    def __init__(self, *faults: LedgerError) -> None:
        self.faults = list(faults)
        self.seen: list[bool] = []

    async def __call__(self, is_repeat: bool) -> str:  # noqa: FBT001 - as `insist` calls it
        self.seen.append(is_repeat)
        if self.faults:
            raise self.faults.pop(0)
        return "done"


def gone(*, is_in_doubt: bool = False) -> LedgerGoneError:
    error = LedgerGoneError("The database is gone.")
    error.is_in_doubt = is_in_doubt
    return error


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def patience(clock: SettableClock, waits: Waits) -> Patience:
    async def sleep(seconds: float) -> None:
        clock.advance(seconds)
        await asyncio.sleep(0)

    return Patience(a_run(), SECONDS, clock=clock, watcher=waits, sleep=sleep)


async def test_what_succeeds_at_once_tells_nobody(patience: Patience, waits: Waits):
    """No outage, no word."""
    assert await patience.insist(Attempts()) == "done"
    assert (waits.told, waits.back) == ([], [])


async def test_it_attempts_until_the_database_is_back(patience: Patience, waits: Waits, clock: SettableClock):
    """Once per second; it says so at the beginning, now and then, and at the end."""
    attempts = Attempts(*(gone() for _ in range(40)))
    assert await patience.insist(attempts) == "done"

    assert len(attempts.seen) == 41
    assert not any(attempts.seen)
    assert clock.monotonic() == 40 * RETRY_SECONDS
    assert waits.told == [("The database is gone.", SECONDS - TELL_SECONDS * number) for number in range(3)]
    assert waits.back == [40 * RETRY_SECONDS]


async def test_the_patience_is_the_outage_s_and_not_each_write_s(
    patience: Patience, waits: Waits, clock: SettableClock
):
    """When it is over the error says what to do; the next write fails at once; after a success all of it is back."""
    endless = Attempts(*(gone() for _ in range(1_000)))
    with pytest.raises(LedgerGoneError, match=r"is gone\. The run waited 60 s .* mend the database"):
        await patience.insist(endless)
    assert clock.monotonic() == SECONDS

    next_one = Attempts(gone(), gone())
    with pytest.raises(LedgerGoneError):
        await patience.insist(next_one)
    assert len(next_one.seen) == 1

    await patience.insist(Attempts())
    assert waits.back == [SECONDS]
    assert await patience.insist(Attempts(*(gone() for _ in range(50)))) == "done"


@pytest.mark.parametrize("error", [LedgerError("no schema"), LeaseLostError("lost")])
async def test_what_waiting_does_not_mend_is_raised_at_once(patience: Patience, error: LedgerError, waits: Waits):
    """A missing schema, a contradiction, a job that is another's."""
    with pytest.raises(type(error)):
        await patience.insist(Attempts(error))
    assert waits.told == []


async def test_a_commit_without_an_answer_leaves_all_later_attempts_in_doubt(patience: Patience):
    """Whatever fails after it: what was written may stand."""
    attempts = Attempts(gone(), gone(is_in_doubt=True), gone())
    await patience.insist(attempts)
    assert attempts.seen == [False, False, True, True]


async def test_writes_keep_their_order(patience: Patience):
    """Those behind one that waits come after it."""
    done: list[str] = []
    first = Attempts(gone(), gone(), gone())

    async def write(name: str, attempts: Attempts) -> None:
        await patience.insist(attempts)
        done.append(name)

    both = (("first", first), ("second", Attempts()))
    await asyncio.wait([asyncio.create_task(write(name, attempts)) for name, attempts in both], timeout=10)
    assert done == ["first", "second"]


async def test_waiting_can_be_cancelled(clock: SettableClock, waits: Waits):
    """Ctrl-C ends it."""
    patience = Patience(a_run(), SECONDS, clock=clock, watcher=waits)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await patience.insist(Attempts(*(gone() for _ in range(9))))
    assert waits.told
    assert await patience.insist(Attempts()) == "done"


class UnansweredDatabase(Database):
    """Commits, and loses the answer of every first commit."""

    def __init__(self, real: Database) -> None:
        self._real = real
        self.kind = real.kind
        self.is_mute = True

    @contextlib.asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        async with self._real.begin() as connection:
            yield connection
        self.is_mute = not self.is_mute
        if not self.is_mute:
            raise gone(is_in_doubt=True)


@pytest.fixture
def mute(database: Database) -> UnansweredDatabase:
    return UnansweredDatabase(database)


async def rows(database: Database, table: sa.Table) -> int:
    async with database.read() as connection:
        return int((await connection.execute(sa.select(sa.func.count()).select_from(table))).scalar_one())


async def test_a_write_whose_answer_was_lost_is_not_written_twice(
    database: Database, mute: UnansweredDatabase, patience: Patience, clock: SettableClock
):
    """Canaries, observation, findings, their issue, evidence, verdict: one of each, though each was committed first."""
    run, leak = a_run(), a_leak()
    judgement = judged(leak)
    report = a_report(run=run, findings=(leak, dataclasses.replace(leak, probe_label="")))
    await SqlLedger(database, clock).open_run(run, ESTIMATE)
    ledger = PatientLedger(SqlLedger(mute, clock), patience)
    vault = PatientVault(Vault(mute, clock, None), patience)

    await ledger.remember(run, [(CHECK, PROMPT)])
    await ledger.record(run, judgement)
    await vault.keep(run, judgement, [Excerpt(channel=Channel.CONTENT, start=0, text="somebody's")])
    await ledger.close_run(report)

    counted = {table.name: await rows(database, table) for table in (probes, observations, vault_excerpts, runs)}
    assert counted == {"probes": 1, "observations": 1, "vault_excerpts": 1, "runs": 1}
    assert await rows(database, findings) == 2
    assert await rows(database, sightings) == 2 * len(leak.sightings)
    async with database.read() as connection:
        assert (await connection.execute(sa.select(issues.c.count))).scalars().all() == [2]


async def test_a_repeat_whose_first_attempt_did_not_stand_is_written(
    database: Database, patience: Patience, clock: SettableClock
):
    """In doubt means that it may stand, not that it does."""
    run, ledger = a_run(), SqlLedger(database, clock)
    await ledger.open_run(run, ESTIMATE)
    await ledger.remember(run, [(CHECK, PROMPT)], is_repeat=True)
    await ledger.record(run, judged(), is_repeat=True)
    assert await rows(database, observations) == 1


class CountingBudget(Unlimited):
    """Counts calls; each first one fails behind its commit."""

    def __init__(self) -> None:
        self.calls = 0

    async def settle(self, reservation: Reservation, spent: object) -> None:
        self.calls += 1
        if self.calls == 1:
            raise gone(is_in_doubt=True)


async def test_what_may_be_settled_is_not_taken_off_twice(patience: Patience):
    """Counted too much it ends runs early; counted too little it would spend what nobody allowed."""
    budget = CountingBudget()
    patient = PatientBudget(budget, patience)
    reservation = await patient.reserve(a_run(), {"alpha": Spending(requests=1)})
    assert isinstance(reservation, Reservation)
    assert await patient.shortages(a_run(), {}) == ()
    await patient.settle(reservation, {})
    assert budget.calls == 1


async def test_the_rest_of_the_ledger_is_asked_at_once(database: Database, patience: Patience, clock: SettableClock):
    """Nothing is sent or seen yet when a run begins: there is nothing to wait for."""
    ledger = PatientLedger(SqlLedger(database, clock), patience)
    await ledger.open_run(a_run(), ESTIMATE)
    assert await ledger.reference(a_run()) == ()
    assert PatientVault(Vault(database, clock, None), patience).bounds.excerpt > 0
