"""A queue in memory and the parts of a replica around it."""

import asyncio
import dataclasses
import datetime as dt
from collections.abc import Collection, Mapping, Sequence

from prober.config.schedules import ServiceSettings
from prober.domain.breaker import Admission, BreakerState
from prober.domain.campaign import Trigger
from prober.domain.finding import Finding
from prober.domain.job import Job, JobRequest, JobState, MissedReason
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.store.jobs import Census
from tests.support.reports import a_clean_report

NOW = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)


def a_job(number: int = 1, target: str = "glm", **changes: object) -> Job:
    request = JobRequest(target=target, trigger=Trigger.SCHEDULE)
    job = Job(job_id=f"job-{number}", request=request, state=JobState.QUEUED, queued_at=NOW)
    return dataclasses.replace(job, **changes)


class FakeQueue:
    """Jobs in memory. `faults` are raised, one by call, before anything happens; `told` is how jobs ended.

    A `claim_gate` holds claims up; `claims` counts those begun.
    """

    def __init__(self) -> None:
        self.waiting: list[Job] = []
        self.told: list[tuple[str, object, str]] = []
        self.faults: list[Exception] = []
        self.claim_gate: asyncio.Event | None = None
        self.claims = 0
        self.taken_back: tuple[Job, ...] = ()
        self.is_cancel_requested = False
        self.extended = 0

    def _fail(self) -> None:
        if self.faults:
            raise self.faults.pop(0)

    async def claim(self, targets: Collection[str], lease: dt.timedelta) -> Job | None:
        assert lease > dt.timedelta(0)
        self.claims += 1
        if self.claim_gate is not None:
            await self.claim_gate.wait()
        self._fail()
        for job in self.waiting:
            if job.request.target in targets:
                self.waiting.remove(job)
                return dataclasses.replace(job, state=JobState.RUNNING, holder="one", fence=1, attempts=1)
        return None

    async def settle(self, job: Job, outcome: Outcome | None, note: str = "") -> Job:
        self._fail()
        self.told.append((job.job_id, outcome, note))
        return dataclasses.replace(job, state=JobState.DONE, outcome=outcome)

    async def give_back(self, job: Job, note: str) -> Job:
        self._fail()
        self.told.append((job.job_id, "given back", note))
        return dataclasses.replace(job, state=JobState.QUEUED)

    async def skip(self, job: Job, reason: MissedReason) -> Job:
        self._fail()
        self.told.append((job.job_id, reason, ""))
        return dataclasses.replace(job, state=JobState.MISSED)

    async def extend(self, job: Job, lease: dt.timedelta) -> Job:
        assert lease > dt.timedelta(0)
        self._fail()
        self.extended += 1
        return dataclasses.replace(job, is_cancel_requested=self.is_cancel_requested)

    async def reclaim_lost(self) -> tuple[Job, ...]:
        self._fail()
        return self.taken_back

    async def census(self) -> Census:
        return Census(counts={JobState.QUEUED: len(self.waiting)}, longest_wait=dt.timedelta(seconds=7))


class FakeBench:
    """Performs runs that last until they are told to end; `ending` is what they then do."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.targets = ("glm", "kimi")
        self.begun: list[str] = []
        self.most_at_once = 0
        self.at_work = 0
        self.gate = asyncio.Event()
        self.fault: Exception | None = None
        self.doubts: tuple[Finding, ...] = ()
        self.is_admitted = True

    async def admits(self, job: Job) -> Admission:
        assert job.state is JobState.RUNNING
        return Admission(is_admitted=self.is_admitted, state=BreakerState.OPEN)

    async def perform(self, job: Job, doubts: Sequence[Finding]) -> RunReport:
        self.begun.append(job.job_id)
        self.doubts = tuple(doubts)
        self.at_work += 1
        self.most_at_once = max(self.most_at_once, self.at_work)
        try:
            await self.gate.wait()
        finally:
            self.at_work -= 1
        if self.fault is not None:
            raise self.fault
        return a_clean_report()


class FakeSeries:
    """Counts what a worker and a heart tell."""

    def __init__(self) -> None:
        self.held_now = 0
        self.lost = 0
        self.scheduled: list[str] = []
        self.seen: list[tuple[Mapping[JobState, int], dt.timedelta]] = []
        self.back = 0
        self.is_stopped = False

    def held(self, count: int) -> None:
        self.held_now = count

    def lease_lost(self) -> None:
        self.lost += 1

    def scheduled_run_ended(self, target: str, now: dt.datetime) -> None:
        assert now.tzinfo is not None
        self.scheduled.append(target)

    def queue_seen(self, counts: Mapping[JobState, int], longest_wait: dt.timedelta, now: dt.datetime) -> None:
        assert now.tzinfo is not None
        self.seen.append((counts, longest_wait))

    def taken_back(self, count: int) -> None:
        self.back += count

    def stopped(self, *, is_thrown: bool) -> None:
        self.is_stopped = is_thrown


async def until(condition: object, seconds: float = 10) -> None:
    """Let the loop turn until a condition, given as a callable, holds."""
    assert callable(condition)
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - any condition, not one that sets an event
            await asyncio.sleep(0.005)
