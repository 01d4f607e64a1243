"""The circuit breaker, asked by the worker: over a real ledger, and with what it shows."""

import dataclasses
import datetime as dt

import pytest

from prober.domain.answer import Answer
from prober.domain.breaker import BreakerState, RunHealth
from prober.domain.campaign import Trigger
from prober.domain.job import Job, JobRequest, JobState
from prober.domain.observation import FailureKind, Observation, Refusal, RefusalReason
from prober.domain.outcome import Outcome
from prober.plan.breaker import DOWN_ANSWERS, FIRST_WAIT, OPENS_AFTER
from prober.service.breaker import CircuitBreaker
from tests.support.ledger import SettableClock
from tests.support.ports import World, run_in
from tests.support.reports import STARTED

DOWN = "glm"


@dataclasses.dataclass
class FakeHealth:
    """Runs per target, newest first."""

    runs: dict[str, list[RunHealth]] = dataclasses.field(default_factory=dict)

    async def latest(self, target: str) -> tuple[RunHealth, ...]:
        return tuple(self.runs.get(target, ()))


@dataclasses.dataclass
class Shown:
    """A gauge and a log."""

    states: list[tuple[str, BreakerState]] = dataclasses.field(default_factory=list)
    lines: list[tuple[str, str, dict[str, object]]] = dataclasses.field(default_factory=list)

    def breaker(self, target: str, state: BreakerState) -> None:
        self.states.append((target, state))

    def debug(self, event: str, **facts: object) -> None:
        self.lines.append(("debug", event, facts))

    def info(self, event: str, **facts: object) -> None:
        self.lines.append(("info", event, facts))

    def warning(self, event: str, **facts: object) -> None:
        self.lines.append(("warning", event, facts))

    def error(self, event: str, **facts: object) -> None:
        self.lines.append(("error", event, facts))


class Bench:
    """A breaker with everything around it."""

    def __init__(self) -> None:
        self.clock = SettableClock()
        self.health = FakeHealth()
        self.shown = Shown()
        self.breaker = CircuitBreaker(self.health, self.clock, gauge=self.shown, log=self.shown)

    def fails(self, runs: int = 1) -> None:
        for _ in range(runs):
            self._end(has_answered=False)

    def answers(self) -> None:
        self._end(has_answered=True)

    def _end(self, *, has_answered: bool) -> None:
        known = self.health.runs.setdefault(DOWN, [])
        known.insert(0, RunHealth(ended_at=self.clock.now(), has_answered=has_answered))

    def job(self, trigger: Trigger = Trigger.SCHEDULE, target: str = DOWN) -> Job:
        request = JobRequest(target=target, trigger=trigger)
        return Job(job_id="1", request=request, state=JobState.RUNNING, queued_at=self.clock.now())


async def test_a_target_goes_down_and_comes_back():
    """Closed, open, half open, open for longer, half open, closed: each change is logged once and shown each time."""
    bench = Bench()
    course: list[tuple[bool, BreakerState]] = []

    async def ask() -> None:
        asked = await bench.breaker.admits(bench.job())
        course.append((asked.is_admitted, asked.state))

    bench.fails(OPENS_AFTER - 1)
    await ask()
    bench.fails()
    await ask()
    await ask()
    bench.clock.advance(FIRST_WAIT.total_seconds())
    await ask()
    bench.fails()
    bench.clock.advance(FIRST_WAIT.total_seconds())
    await ask()
    bench.clock.advance(FIRST_WAIT.total_seconds())
    await ask()
    bench.answers()
    await ask()

    closed, is_open, half_open = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN
    assert course == [
        (True, closed),
        (False, is_open),
        (False, is_open),
        (True, half_open),
        (False, is_open),
        (True, half_open),
        (True, closed),
    ]
    assert bench.shown.states == [(DOWN, state) for _, state in course]
    logged = [(level, facts["state"], facts["failed_runs"]) for level, event, facts in bench.shown.lines]
    assert logged == [
        ("warning", is_open, 3),
        ("warning", half_open, 3),
        ("warning", is_open, 4),
        ("warning", half_open, 4),
        ("info", closed, 0),
    ]
    assert {event for _, event, _ in bench.shown.lines} == {"breaker_changed"}


async def test_manual_and_rollout_runs_always_go_through():
    """They also close it, should the target answer them."""
    bench = Bench()
    bench.fails(OPENS_AFTER)

    assert not (await bench.breaker.admits(bench.job())).is_admitted
    assert (await bench.breaker.admits(bench.job(Trigger.MANUAL))).is_admitted
    assert (await bench.breaker.admits(bench.job(Trigger.ROLLOUT))).is_admitted
    bench.answers()
    assert (await bench.breaker.admits(bench.job())).is_admitted


async def test_targets_do_not_close_each_other():
    """One that is down leaves the others alone."""
    bench = Bench()
    bench.fails(OPENS_AFTER)

    assert (await bench.breaker.admits(bench.job(target="other"))).is_admitted
    assert bench.shown.states == [("other", BreakerState.CLOSED)]
    assert bench.shown.lines == []


async def test_a_restart_forgets_nothing():
    """The state stands in the runs: a new process, or another replica, finds it as it was."""
    bench = Bench()
    bench.fails(OPENS_AFTER)
    other = CircuitBreaker(bench.health, bench.clock, gauge=bench.shown, log=bench.shown)

    first, second = await bench.breaker.admits(bench.job()), await other.admits(bench.job())

    assert first == second
    assert first.retry_at == bench.clock.now() + FIRST_WAIT
    assert isinstance(first.retry_at, dt.datetime)


DOWN_OBSERVATIONS = {
    "unreachable": {"failure": FailureKind.CONNECT},
    "hang": {"failure": FailureKind.HANG},
    "unauthorised": {"status": 401, "refusal": Refusal(reason=RefusalReason.AUTH)},
    "not_found": {"status": 404, "refusal": Refusal(reason=RefusalReason.NOT_FOUND)},
    "server_error": {"status": 500, "refusal": Refusal(reason=RefusalReason.SERVER)},
    "busy": {"status": 429, "refusal": Refusal(reason=RefusalReason.RATE)},
}


@pytest.mark.parametrize("name", DOWN_OBSERVATIONS)
async def test_a_run_against_a_target_that_is_down_is_one_cheap_probe(name: str):
    """What half open lets through: each kind of error ends the run at its first, small probe, and counts as down."""
    observation = Observation(sent_at=STARTED, **DOWN_OBSERVATIONS[name])
    world = World(lambda _probe, _prompt: observation)

    report = await run_in(world, "baseline", "seed_and_probe")

    assert world.labels("send") == ["calibration/0001"]
    assert len(world.endpoint.texts[0]) < 5_000
    assert {probe.answer for probe in report.probes} == {Answer(name)} <= DOWN_ANSWERS
    assert report.verdict.outcome is Outcome.INCONCLUSIVE


def test_every_error_that_opens_the_breaker_is_tried_above():
    """None is left out."""
    assert {answer.value for answer in DOWN_ANSWERS} == set(DOWN_OBSERVATIONS)
