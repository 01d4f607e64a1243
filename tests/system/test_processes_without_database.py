"""`prober run` and `prober serve` as processes whose database goes away in the middle and comes back."""

import asyncio
import dataclasses
import resource
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from prober.cli.exits import Exit
from prober.cli.interrupts import CLOSE_SECONDS
from prober.domain.campaign import Trigger
from prober.domain.finding import Reason
from prober.domain.job import JobRequest, JobState
from prober.domain.outcome import Outcome
from prober.store.database import Database
from prober.store.jobs import JobQueue
from prober.store.lookups import LedgerLookups
from prober.store.migrate import upgrade
from prober.wiring.system import SystemClock
from tests.support.command import Workplace, finish
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile
from tests.support.postgres import OwnServer, own_server
from tests.support.replicas import replica, serving


def nothing() -> None:
    """Until a test says what happens at the first leak."""


@dataclasses.dataclass
class LeakingLlm(FakeLlm):
    """Calls `on_leak` before its first leak leaves."""

    leaks: bool = True
    on_leak: Callable[[], object] = nothing
    has_leaked: bool = False

    def _foreign(self, tenant: str) -> str:
        if not self.has_leaked:
            self.has_leaked = True
            self.on_leak()
        return super()._foreign(tenant)


class Child:
    """A `prober run` whose disk can be full: no file of its may grow, by the kernel's own limit."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said = ""

    def fill_disk(self) -> None:
        _, most = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (1, most))

    def free_disk(self) -> None:
        _, most = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (most, most))

    async def until(self, words: str) -> None:
        """Read its standard output up to a line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while words not in self.said:
                line = await self.process.stdout.readline()
                assert line, f"ended before {words!r}: {self.said}"
                self.said += line.decode()


@pytest.fixture
async def running(place: Workplace) -> AsyncIterator[Child]:
    """A run that has seen a leak which it cannot write down."""
    llm = LeakingLlm()
    async with hostile(llm.handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", shared=False, scenarios=["seed_and_probe"])
        child = Child(await place.spawn("run"))
        llm.on_leak = child.fill_disk
        try:
            await child.until("waiting up to")
            yield child
        finally:
            if child.process.returncode is None:
                child.process.kill()
                await child.process.wait()


def leaks_in(place: Workplace) -> int:
    (number,) = place.rows("SELECT count(*) FROM findings WHERE reason = 'foreign_canary' AND outcome = 'violation'")[0]
    return int(number)


async def test_a_run_on_a_full_disk_says_so_waits_and_goes_on(place: Workplace, running: Child):
    """The leak is on the screen at once and in the ledger once there is space; the exit code is the verdict's."""
    assert "is its disk full" in running.said
    await running.until(" VIOLATION ")
    assert leaks_in(place) == 0
    running.free_disk()
    await running.until("the database is back")
    finished = await finish(running.process)

    assert finished.code == Exit.VIOLATION
    assert leaks_in(place) > 0
    ((outcome, _, ended_at),) = place.run_rows()
    assert (outcome, ended_at is not None) == ("violation", True)
    assert None not in place.answers()


async def test_a_waiting_run_ends_by_ctrl_c_and_shows_what_it_saw(place: Workplace, running: Child):
    """The first one lets it try for a few seconds more, the second ends it; nobody is told that all stands stored."""
    begun = time.monotonic()
    running.process.send_signal(signal.SIGINT)
    await asyncio.sleep(1)
    assert running.process.returncode is None
    running.process.send_signal(signal.SIGINT)
    finished = await finish(running.process)

    assert time.monotonic() - begun < CLOSE_SECONDS
    assert finished.code == Exit.INTERRUPTED
    assert "interrupted while the database was gone" in finished.stderr
    assert "stands closed" not in finished.stderr
    report = running.said + finished.stdout
    assert "Not in the database" in report
    assert "VIOLATION" in report.partition("Not in the database")[2]
    assert "Traceback" not in report + finished.stderr


@pytest.fixture
def server() -> Iterator[OwnServer]:
    with own_server() as running:
        asyncio.run(upgrade(running.url))
        yield running


@pytest.mark.slow
async def test_a_replica_outlives_its_server_and_the_leak_reaches_the_ledger(place: Workplace, server: OwnServer):
    """PostgreSQL is away for longer than the lease: the run is cut, its leak stored all the same, its job run anew."""
    llm = LeakingLlm(on_leak=server.stop)
    async with hostile(llm.handler()) as target:
        top = {"database": server.url, "service": {"lease_seconds": 4}}
        serving(place, f"http://127.0.0.1:{target.port}/v1", top=top, shared=False, scenarios=["seed_and_probe"])
        database = Database(server.url)
        queue = JobQueue(database, SystemClock(), "test")
        async with replica(place) as one:
            job = await queue.enqueue(JobRequest(target="hostile", trigger=Trigger.MANUAL))
            waiting = await one.until("database_awaited")
            await asyncio.sleep(6)
            await asyncio.to_thread(server.start)
            await one.until("database_back", seconds=30)
            back = await one.until("job_ended")
            await one.until("job_ended", accepts=lambda event: event["state"] == "done")
            assert await one.end() == 0
        done = await queue.find(job.job_id)
        first = await LedgerLookups(database, SystemClock()).run(waiting["run_id"])
        leaks = await LedgerLookups(database, SystemClock()).findings(
            run_id=waiting["run_id"], reason=Reason.FOREIGN_CANARY
        )
        await database.close()

    assert (back["state"], back["note"]) == ("queued", "its replica could not reach the database")
    assert first is not None
    assert (first.outcome, first.ended_at is not None) == (Outcome.VIOLATION, True)
    assert leaks
    assert done is not None
    assert (done.state, done.outcome, done.attempts) == (JobState.DONE, Outcome.VIOLATION, 2)
    assert one.named("job_taken_back") == []
    assert "server" in waiting["reason"]
