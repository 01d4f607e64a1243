"""Runs that are interrupted: what had come back is written down, and a second interrupt waits for nothing."""

import asyncio
import dataclasses
import datetime as dt
from collections.abc import Generator

import pytest

from prober.domain.errors import LedgerError
from prober.domain.evidence import WaveEvidence
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, Wave
from prober.domain.prompt import Prompt
from prober.domain.verdict import RunReport
from prober.plan.scenarios import SCENARIOS
from prober.plan.stage import Stage
from prober.runner.run import LAST_SECONDS
from tests.support.ports import RecordedScenario, World, run_in


class TwoAtOnce:
    """A scenario with one wave of two probes, the second of which is never answered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.recorded = RecordedScenario(monkeypatch)
        self.is_waiting = asyncio.Event()
        monkeypatch.setitem(SCENARIOS, "recorded", self.play)

    def play(self, stage: Stage) -> Generator[Wave, WaveEvidence, tuple[str, ...]]:
        yield Wave(probes=(self.recorded.probe(stage, 1), self.recorded.probe(stage, 2)), purpose="see")
        return ()

    def world(self, *, fails_at: str = "") -> World:
        async def respond(probe: Probe, prompt: Prompt) -> Observation:
            if probe.label == "recorded/0002":
                self.is_waiting.set()
                await asyncio.Event().wait()
            observation = world.llm.observe(probe, prompt)
            if probe.label == "recorded/0001":
                return dataclasses.replace(observation, text=world.endpoint.texts[1])
            return observation

        world = World(respond, fails_at=fails_at)
        return world

    async def interrupt(self, world: World) -> asyncio.Task[RunReport]:
        """Run until the second probe waits, then interrupt."""
        running = asyncio.create_task(run_in(world, "recorded"))
        await asyncio.wait_for(self.is_waiting.wait(), 10)
        running.cancel()
        await asyncio.wait([running], timeout=10)
        return running


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> TwoAtOnce:
    return TwoAtOnce(monkeypatch)


async def test_an_interrupt_in_a_wave_loses_no_answer_that_had_come(two: TwoAtOnce):
    """The answers of others in flight are given up; those that are there are judged and recorded, be they leaks."""
    world = two.world()
    running = await two.interrupt(world)

    assert running.cancelled()
    assert world.labels("record")[-1] == world.labels("probe_judged")[-1] == "recorded/0001"
    (report,) = world.ledger.reports
    assert report.verdict.outcome is Outcome.VIOLATION
    assert world.endpoint.in_flight == 0


@pytest.mark.parametrize("fails_at", ["record:recorded/0001", "lost"])
async def test_a_fault_while_an_interrupted_wave_is_saved_does_not_stop_the_cancellation(two: TwoAtOnce, fails_at: str):
    """It is counted, unless the job is another replica's by now."""
    world = two.world(fails_at=fails_at)
    world.ledger.lost_at = "record:recorded/0001" if fails_at == "lost" else ""
    running = await two.interrupt(world)

    assert running.cancelled()
    assert [type(error) for _, error in world.telemetry.errors] == ([] if fails_at == "lost" else [LedgerError])
    assert world.labels("probe_judged")[-1] == "recorded/0001"


async def test_an_interrupt_at_the_very_end_does_not_lose_the_verdict(monkeypatch: pytest.MonkeyPatch):
    """A run that was judged to its end is stored as such; then the interrupt goes on."""
    world = World()
    reached, may_go_on = asyncio.Event(), asyncio.Event()
    close_run = world.ledger.close_run

    async def slow(report: RunReport) -> None:
        reached.set()
        await may_go_on.wait()
        await close_run(report)

    monkeypatch.setattr(world.ledger, "close_run", slow)
    running = asyncio.create_task(run_in(world))
    await asyncio.wait_for(reached.wait(), 20)
    running.cancel()
    await asyncio.sleep(0.01)
    may_go_on.set()
    await asyncio.wait([running], timeout=10)

    assert running.cancelled()
    assert world.ledger.stored_runs["run-1"].outcome is Outcome.CLEAN


async def test_a_second_interrupt_waits_for_no_ledger(monkeypatch: pytest.MonkeyPatch):
    """The first one lets it write down what it saw, however long that takes; the second ends it within a moment."""
    world = World()
    waits = asyncio.Event()

    async def waiting(*_: object) -> None:
        waits.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(world.ledger, "record", waiting)
    monkeypatch.setattr(world.ledger, "close_run", waiting)
    running = asyncio.create_task(run_in(world))
    await asyncio.wait_for(waits.wait(), 20)
    running.cancel()
    await asyncio.wait([running], timeout=0.2)
    assert not running.done()
    running.cancel()
    await asyncio.wait([running], timeout=10 * LAST_SECONDS)

    assert running.cancelled()
    assert world.labels("run_ended") == [""]


async def test_a_run_ends_no_earlier_than_it_began():
    """A clock that was stepped back meanwhile makes no negative duration."""

    def respond(probe: Probe, prompt: Prompt) -> Observation:
        world.ledger.clock.date = dt.datetime(2026, 9, 1, 11, tzinfo=dt.UTC)
        return world.llm.observe(probe, prompt)

    world = World(respond)
    report = await run_in(world)
    assert report.ended_at == report.run.started_at
