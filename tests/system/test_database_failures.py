"""What happens to a run while its database is gone, on both kinds: it waits, says why, and loses nothing it saw."""

import asyncio
import contextlib
import dataclasses
import datetime as dt
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
import sqlalchemy as sa

from prober.domain.campaign import Run, Trigger
from prober.domain.errors import LedgerGoneError
from prober.domain.finding import Reason
from prober.domain.job import JobRequest, JobState
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe
from prober.domain.prompt import Prompt
from prober.domain.verdict import RunReport
from prober.runner import reception
from prober.runner.ports import Ports
from prober.runner.run import execute
from prober.store import database as database_module
from prober.store.database import Database
from prober.store.fencing import Claim
from prober.store.jobs import JobQueue
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from prober.store.migrate import upgrade
from prober.store.patience import Patience, PatientLedger
from prober.store.schema.runs import observations, probes
from prober.wiring.system import SystemClock
from tests.support.command import Workplace
from tests.support.outages import (
    FullDisk,
    LockedFile,
    Outage,
    ReadOnlyFile,
    ReadOnlyServer,
    StoppedServer,
    ending_when,
)
from tests.support.ports import Journal, RecordingTelemetry, World, small_run
from tests.support.postgres import OwnServer, own_server

ON_FILES = (FullDisk, ReadOnlyFile, LockedFile)
ON_SERVERS = (StoppedServer, ReadOnlyServer)
LEASE = dt.timedelta(seconds=3_600)


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    """A server that other tests do not see stopped."""
    with own_server() as running:
        asyncio.run(upgrade(running.url))
        yield running


@dataclasses.dataclass
class Scene:
    """A database, and what will happen to it."""

    database: Database
    outage: Outage


@pytest.fixture(params=[*ON_FILES, *ON_SERVERS], ids=lambda kind: kind.__name__)
def made(request: pytest.FixtureRequest, place: Workplace, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(database_module, "BUSY_TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr(reception, "PUBLISH_SECONDS", 0.2)
    if request.param in ON_SERVERS:
        running: OwnServer = request.getfixturevalue("server")
        return Scene(Database(running.url), request.param(running))
    database = Database(f"sqlite:///{place.database}")
    return Scene(database, request.param(database, place.database))


@pytest.fixture
async def scene(made: Scene) -> AsyncIterator[Scene]:
    yield made
    await made.database.close()


class Watching(RecordingTelemetry):
    """Sees when a run begins to wait."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.waits = asyncio.Event()
        self.reasons: list[str] = []

    def database_awaited(self, run: Run, why: str, seconds: float) -> None:
        super().database_awaited(run, why, seconds)
        self.reasons.append(why)
        self.waits.set()


class Stage:
    """A leaking target whose first leak comes back just after the database is gone."""

    def __init__(self, scene: Scene, seconds: float = 60, ledger: SqlLedger | None = None) -> None:
        self.scene = scene
        self.world = World(self.respond)
        self.world.llm.leaks = True
        self.telemetry = Watching(self.world.journal)
        self.run = dataclasses.replace(small_run("baseline", "seed_and_probe"), run_id=f"run-{id(self)}")
        self.leaks = 0
        self.patience = Patience(
            self.run,
            seconds,
            clock=SystemClock(),
            watcher=self.telemetry,
            sleep=lambda _: asyncio.sleep(0.05),
        )
        self.ledger = ledger or SqlLedger(scene.database, self.world.ledger.clock)
        self.lookups = LedgerLookups(scene.database, self.world.ledger.clock)

    @property
    def ports(self) -> Ports:
        ledger = PatientLedger(self.ledger, self.patience)
        return dataclasses.replace(self.world.ports, ledger=ledger, telemetry=self.telemetry)

    async def respond(self, probe: Probe, prompt: Prompt) -> Observation:
        answer = self.world.llm.observe(probe, prompt)
        is_leak = answer.status == 200 and "The" not in answer.text and probe.scenario == "seed_and_probe"
        if is_leak:
            self.leaks += 1
            if self.leaks == 1:
                await self.scene.outage.begin()
        return answer

    async def play(self) -> RunReport:
        async with asyncio.timeout(60):
            return await execute(self.run, self.world.instruments, self.ports)

    async def count(self, table: sa.Table) -> int:
        query = sa.select(sa.func.count()).select_from(table)
        if table is probes:
            query = query.where(probes.c.run_id == self.run.run_id)
        else:
            query = query.join_from(observations, probes, observations.c.probe_id == probes.c.id).where(
                probes.c.run_id == self.run.run_id
            )
        async with self.scene.database.read() as connection:
            return int((await connection.execute(query)).scalar_one())

    async def leaks_stored(self) -> int:
        found = await self.lookups.findings(run_id=self.run.run_id, reason=Reason.FOREIGN_CANARY)
        assert {stored.finding.outcome for stored in found} <= {Outcome.VIOLATION}
        return len(found)

    @contextlib.asynccontextmanager
    async def recovering(self, after: float = 0.3) -> AsyncIterator[None]:
        async with ending_when(self.telemetry.waits, self.scene.outage, after):
            yield


async def test_a_run_waits_for_its_database_and_loses_nothing(scene: Scene):
    """Disk full, read-only, locked, server gone: the leak seen then is stored once, and nothing is sent meanwhile."""
    stage = Stage(scene)
    async with stage.recovering():
        report = await stage.play()

    assert report.verdict.outcome is Outcome.VIOLATION
    assert await stage.leaks_stored() == sum(f.reason is Reason.FOREIGN_CANARY for f in report.findings) > 0
    assert await stage.count(observations) == await stage.count(probes) == len(report.probes)
    stored = await stage.lookups.run(stage.run.run_id)
    assert stored is not None
    assert stored.outcome is Outcome.VIOLATION
    assert scene.outage.says in stage.telemetry.reasons[0]
    events = [event for event, _ in stage.world.journal]
    gone, back = events.index("database_awaited"), events.index("database_back")
    assert "send" not in events[gone:back]
    assert "send" in events[back:]


async def test_a_database_that_stays_away_ends_the_run_and_the_next_one_needs_no_restart(scene: Scene):
    """The bound holds; what was seen is published, the message says what to do; the same process goes on afterwards."""
    stage = Stage(scene, seconds=0.3)
    with pytest.raises(LedgerGoneError, match="mend the database") as raised:
        await stage.play()
    assert scene.outage.says in str(raised.value)
    (report,) = stage.telemetry.reports
    assert report.verdict.outcome is Outcome.VIOLATION
    assert any(judgement.is_confirmed_violation for judgement in stage.telemetry.judgements)

    await scene.outage.end()
    after = Stage(Scene(scene.database, Nothing()))
    assert (await after.play()).verdict.outcome is Outcome.VIOLATION
    assert await after.leaks_stored() > 0


class Nothing:
    """No outage."""

    says = ""

    async def begin(self) -> None:
        """Nothing happens."""

    async def end(self) -> None:
        """Nor here."""


async def held(scene: Scene) -> tuple[JobQueue, Claim]:
    """Claim a job."""
    queue = JobQueue(scene.database, SystemClock(), "one")
    await queue.enqueue(JobRequest(target="small", trigger=Trigger.MANUAL))
    job = await queue.claim(["small"], LEASE)
    assert job is not None
    return queue, Claim.of(job)


async def cut_while_waiting(stage: Stage, meanwhile: Callable[[], object] = lambda: None) -> None:
    """What the heart does to a run whose lease is over: cut it, once, while its database is gone."""
    playing = asyncio.create_task(stage.play())
    async with stage.recovering():
        await stage.telemetry.waits.wait()
        playing.cancel()
        meanwhile()
        await asyncio.wait([playing])
    assert playing.cancelled()


async def test_a_run_cut_while_its_database_is_gone_still_writes_down_what_it_saw(scene: Scene):
    """Nobody took it over: the leak is stored, the run closed, and its job can be given back to be run anew."""
    queue, claim = await held(scene)
    stage = Stage(scene, ledger=SqlLedger(scene.database, SystemClock(), claim))
    await cut_while_waiting(stage)

    assert await stage.leaks_stored() > 0
    stored = await stage.lookups.run(stage.run.run_id)
    assert stored is not None
    assert (stored.outcome, stored.ended_at is not None) == (Outcome.VIOLATION, True)
    assert stage.world.labels("send")[-1] == stage.telemetry.judgements[-1].evidence.probe.label
    job = await queue.find(claim.job_id)
    assert job is not None
    assert (await queue.give_back(job, "gone")).state is JobState.QUEUED
    again = await queue.claim(["small"], LEASE)
    assert again is not None
    await queue.settle(again, None)


async def test_a_run_taken_over_meanwhile_writes_nothing(scene: Scene):
    """The fence is asked at each attempt: what another replica has begun anew is not written into."""
    queue, claim = await held(scene)
    stage = Stage(scene, ledger=SqlLedger(scene.database, SystemClock(), claim))
    job = await queue.find(claim.job_id)
    assert job is not None

    class EndedElsewhere:
        says = ""

        async def begin(self) -> None:
            await queue.give_back(job, "taken")
            again = await queue.claim(["small"], LEASE)
            assert again is not None
            await queue.settle(again, Outcome.INCONCLUSIVE)
            await scene.outage.begin()

        async def end(self) -> None:
            await scene.outage.end()

    stage.scene = Scene(scene.database, EndedElsewhere())
    async with stage.recovering():
        with pytest.raises(LedgerGoneError.__base__, match="taken over"):
            await stage.play()

    assert await stage.leaks_stored() == 0
    assert any(judgement.is_confirmed_violation for judgement in stage.telemetry.judgements)
    assert stage.telemetry.errors == []
