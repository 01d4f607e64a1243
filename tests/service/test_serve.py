"""Replicas as real processes against a real lab: signals, kills, take-overs, reloads."""

import asyncio
import contextlib
import json
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from prober.domain.campaign import Trigger
from prober.domain.job import Job, JobRequest, JobState
from prober.domain.outcome import Outcome
from prober.service.lab_host import HostedLab, LabOrder, lab_host
from prober.store.database import Database
from prober.store.jobs import JobQueue
from prober.store.lookups import LedgerLookups
from prober.store.migrate import upgrade
from prober.store.switches import SwitchBoard
from prober.wiring.system import SystemClock
from tests.support.command import Workplace, finish, workplace
from tests.support.replicas import LAB_KEYS, ReplicaProcess, replica, serving

pytestmark = pytest.mark.slow

LONG = {
    "scenarios": ["baseline"],
    "settings": {"baseline_probes": 400, "anchor_probes": 1, "baseline_tokens": 2_000},
}
"""A run of half a minute and more: long enough to be interrupted anywhere."""

SHORT = {"scenarios": ["baseline"], "settings": {"baseline_probes": 1, "anchor_probes": 5, "baseline_tokens": 2_000}}

MANUAL = JobRequest(target="hostile", trigger=Trigger.MANUAL, requested_by="test")


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return workplace(tmp_path)


@pytest.fixture
async def lab() -> AsyncIterator[HostedLab]:
    async with lab_host() as host, host.lab(LabOrder(scene="small", keys=LAB_KEYS)) as quick:
        yield quick


class Ledger:
    """The database that the replicas share, seen from beside them."""

    def __init__(self, url: str) -> None:
        self.database = Database(url)
        self.queue = JobQueue(self.database, SystemClock(), "test")
        self.board = SwitchBoard(self.database, SystemClock())

    async def job(self, job_id: str) -> Job:
        job = await self.queue.find(job_id)
        assert job is not None
        return job

    async def until(self, job_id: str, state: JobState, seconds: float = 90) -> Job:
        async with asyncio.timeout(seconds):
            while (job := await self.job(job_id)).state is not state:  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.1)
        return job


@contextlib.asynccontextmanager
async def ledger_of(url: str) -> AsyncIterator[Ledger]:
    ledger = Ledger(url)
    yield ledger
    await ledger.database.close()


@pytest.fixture
async def ledger(place: Workplace) -> AsyncIterator[Ledger]:
    async with ledger_of(f"sqlite:///{place.database}") as opened:
        yield opened


async def in_the_middle(one: ReplicaProcess, ledger: Ledger) -> Job:
    """Ask for a long run and wait until it sends."""
    job = await ledger.queue.enqueue(MANUAL)
    await one.until("probe_judged")
    return await ledger.job(job.job_id)


async def test_a_schedule_is_run_and_a_drain_finishes_what_runs(place: Workplace, lab: HostedLab, ledger: Ledger):
    """Slots become runs with verdicts and metrics; SIGTERM lets the run under way end, claims nothing more, exits 0."""
    often = {"often": {"every_seconds": 1, "stagger_seconds": 0, "scenarios": ["baseline"]}}
    serving(place, f"{lab.url}/v1", top={"schedules": often}, **SHORT)
    async with replica(place) as one:
        address = (await one.until("serving"))["address"]
        await one.until("job_ended")
        async with httpx.AsyncClient() as client:
            metrics = (await client.get(f"{address}/metrics")).text
            ready = await client.get(f"{address}/readyz")
        await one.until("run_started", accepts=lambda event: event is one.named("run_started")[-1])
        assert await one.end(signal.SIGTERM) == 0

    assert ready.status_code == 200
    assert 'prober_slots_queued_total{target="hostile"} 0.0' not in metrics
    assert 'prober_last_scheduled_run_timestamp_seconds{target="hostile"} 0.0' not in metrics
    draining = one.events.index(one.named("draining")[0])
    assert [event for event in one.events[draining:] if event["event"] in {"job_claimed", "slot_queued"}] == []
    jobs = await ledger.queue.listed(limit=500)
    assert {job.state for job in jobs} <= {JobState.DONE, JobState.MISSED, JobState.QUEUED}
    done = [job for job in jobs if job.state is JobState.DONE]
    assert done
    assert place.rows("SELECT outcome, message FROM findings WHERE outcome <> 'clean'") == []
    assert {job.outcome for job in done} == {Outcome.CLEAN}
    assert [row for row in place.run_rows() if row[2] is None] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_drain_is_bounded(place: Workplace, lab: HostedLab, ledger: Ledger, number: signal.Signals):
    """A run that is not over in time is closed as INCONCLUSIVE, its job queued anew; a second signal is that time."""
    serving(place, f"{lab.url}/v1", top={"service": {"drain_seconds": 3_600}}, **LONG)
    async with replica(place) as one:
        job = await in_the_middle(one, ledger)
        one.process.send_signal(number)
        await one.until("draining")
        await asyncio.sleep(0.5)
        assert one.process.returncode is None
        assert await one.end(number) == 0

    ((outcome, reasons, _),) = place.run_rows()
    assert outcome == "inconclusive"
    assert "interrupted" in reasons
    waiting = await ledger.job(job.job_id)
    assert (waiting.state, waiting.note) == (JobState.QUEUED, "its replica was ended")

    serving(place, f"{lab.url}/v1", **SHORT)
    async with replica(place):
        done = await ledger.until(job.job_id, JobState.DONE)
    assert (done.outcome, done.attempts) == (Outcome.CLEAN, 2)


async def test_a_killed_replicas_run_is_taken_over_within_the_stated_time(
    place: Workplace, lab: HostedLab, ledger: Ledger
):
    """SIGKILL on SQLite: the next start closes the run as INCONCLUSIVE and runs the job anew; no canary is unknown."""
    serving(place, f"{lab.url}/v1", **LONG)
    async with replica(place) as one:
        job = await in_the_middle(one, ledger)
        await one.end(signal.SIGKILL)
    assert place.run_rows()[0][0] is None

    serving(place, f"{lab.url}/v1", **SHORT)
    async with replica(place) as two:
        # Lease of 9 s and a beat of 3 s; the rest is for a busy machine.
        await two.until("job_taken_back", seconds=20)
        done = await ledger.until(job.job_id, JobState.DONE)

    assert (done.outcome, done.attempts) == (Outcome.CLEAN, 2)
    assert [(outcome, ended is None) for outcome, _, ended in place.run_rows()] == [
        ("inconclusive", False),
        ("clean", False),
    ]


async def test_a_replica_that_slept_writes_nothing_into_the_run_it_lost(
    place: Workplace, lab: HostedLab, empty_postgres: str
):
    """SIGSTOP past the lease: another replica takes over; after SIGCONT the first one's run ends, its words refused."""
    await upgrade(empty_postgres)
    database = empty_postgres
    serving(place, f"{lab.url}/v1", top={"database": database, "service": {"replica": "one"}}, **LONG)
    async with ledger_of(database) as ledger, replica(place) as one:
        job = await in_the_middle(one, ledger)
        one.process.send_signal(signal.SIGSTOP)
        serving(place, f"{lab.url}/v1", top={"database": database, "service": {"replica": "two"}}, **SHORT)
        async with replica(place) as two:
            await two.until("job_taken_back")
            done = await ledger.until(job.job_id, JobState.DONE)
            one.process.send_signal(signal.SIGCONT)
            await one.until("lease_lost")
            assert await one.end() == 0
            assert await two.end() == 0
        after = await ledger.job(job.job_id)
        lost = next(event["run_id"] for event in one.named("run_started"))
        stored = await LedgerLookups(ledger.database, SystemClock()).run(lost)

    assert after == done
    assert (done.holder, done.attempts, done.outcome) == ("two", 2, Outcome.CLEAN)
    assert stored is not None
    assert stored.outcome is Outcome.INCONCLUSIVE
    assert stored.ended_at is not None
    assert done.ended_at is not None
    assert stored.ended_at < done.ended_at


async def test_a_broken_configuration_is_refused_and_the_old_one_stays(
    place: Workplace, lab: HostedLab, ledger: Ledger
):
    """SIGHUP: all problems are logged, secrets aside; probing goes on; a sound one is taken by the next run."""
    serving(place, f"{lab.url}/v1", **LONG)
    sound = place.config.read_text()
    async with replica(place) as one:
        job = await in_the_middle(one, ledger)
        broken = json.loads(sound)
        broken["targets"]["hostile"]["context_tokens"] = 0
        broken["schedules"] = {"never": {"cron": "0 0 31 2 *"}}
        place.config.write_text(json.dumps(broken))
        one.process.send_signal(signal.SIGHUP)
        await one.until("reload_refused")
        problems = " ".join(event["problem"] for event in one.named("reload_problem"))
        assert "context_tokens" in problems
        assert "never fires" in problems

        document = json.loads(sound)
        document["targets"]["other"] = document["targets"]["hostile"] | SHORT
        document["database"] = "sqlite:///elsewhere.db"
        place.config.write_text(json.dumps(document))
        one.process.send_signal(signal.SIGHUP)
        await one.until("reload_problem", accepts=lambda event: "database" in event["problem"])

        document["database"] = json.loads(sound)["database"]
        place.config.write_text(json.dumps(document))
        one.process.send_signal(signal.SIGHUP)
        await one.until("reloaded")
        other = await ledger.queue.enqueue(JobRequest(target="other", trigger=Trigger.ROLLOUT))
        assert (await ledger.until(other.job_id, JobState.DONE)).outcome is Outcome.CLEAN
        # The long run began under the first configuration, and was left alone.
        assert (await ledger.job(job.job_id)).state is JobState.RUNNING


async def test_a_cancelled_run_ends_as_inconclusive(place: Workplace, lab: HostedLab, ledger: Ledger):
    """The holder hears of it at its next beat; the job says who did it."""
    serving(place, f"{lab.url}/v1", **LONG)
    async with replica(place) as one:
        job = await in_the_middle(one, ledger)
        await ledger.queue.cancel(job.job_id, "bob")
        done = await ledger.until(job.job_id, JobState.DONE, seconds=30)

    assert (done.outcome, done.note) == (Outcome.INCONCLUSIVE, "cancelled by bob")
    assert place.run_rows()[0][0] == "inconclusive"


async def test_the_global_stop_ends_all_probing(place: Workplace, lab: HostedLab, ledger: Ledger):
    """`prober stop`: the run ends at its next wave and nothing is claimed, until it is undone."""
    serving(place, f"{lab.url}/v1", **LONG)
    async with replica(place) as one:
        job = await in_the_middle(one, ledger)
        assert (await place.invoke_beside("stop")).code == 0
        done = await ledger.until(job.job_id, JobState.DONE, seconds=30)
        assert done.outcome is Outcome.INCONCLUSIVE

        waiting = await ledger.queue.enqueue(MANUAL)
        await asyncio.sleep(1)
        assert (await ledger.job(waiting.job_id)).state is JobState.QUEUED
        assert (await place.invoke_beside("stop", "--undo")).code == 0
        await ledger.until(waiting.job_id, JobState.RUNNING, seconds=20)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield int(listener.getsockname()[1])


async def test_what_cannot_be_served_is_said_at_the_start(place: Workplace, taken_port: int):
    """A port that is taken, or an open address without any token, is the configuration's fault: exit 2."""
    for api, words in (({"port": taken_port}, "api.port"), ({"host": "0.0.0.0", "port": 0}, "token")):
        serving(place, "http://127.0.0.1:9/v1", top={"api": api})
        ended = await finish(await place.spawn("serve"))
        assert ended.code == 2
        assert words in ended.said


@pytest.mark.parametrize(("api", "codes"), [({}, [307, 303]), ({"pages": False}, [404, 404])])
async def test_pages_are_served_unless_they_are_switched_off(
    place: Workplace, lab: HostedLab, api: dict[str, object], codes: list[int]
):
    """Under their address, beside the API."""
    serving(place, f"{lab.url}/v1", **SHORT)
    document = json.loads(place.config.read_text())
    place.config.write_text(json.dumps({**document, "api": {**document["api"], **api}}))
    async with replica(place) as one:
        address = (await one.until("serving"))["address"]
        async with httpx.AsyncClient(base_url=address) as client:
            assert [(await client.get(path)).status_code for path in ("/", "/ui/")] == codes
            assert (await client.get("/healthz")).status_code == 200
