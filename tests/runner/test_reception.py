"""Every answer of a wave is judged and published, whatever becomes of the records of others."""

import asyncio
import dataclasses

import pytest

from prober.domain.errors import LeaseLostError, LedgerError
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Probe, PromptSpec, Role, Wave
from prober.domain.verdict import Spending
from prober.runner import reception
from prober.runner.book import RunBook
from prober.runner.reception import Came, take_in
from prober.runner.wave import compose_wave
from tests.support.ports import TENANTS, World, small_run

LABELS = ["x/0", "x/1", "x/2"]


def a_wave() -> Wave:
    """Three probes of two tenants."""
    probes = tuple(
        Probe(
            label=label,
            scenario="x",
            tenant=TENANTS[number % 2],
            role=Role.CHECK,
            prompt=PromptSpec(filler_lines=6),
            expectation=Expectation.SERVE,
        )
        for number, label in enumerate(LABELS)
    )
    return Wave(probes=probes, purpose="see")


async def answered(world: World) -> tuple[list[Came], RunBook]:
    """Three remembered probes, and what came back; the last one is answered with another tenant's text."""
    run = small_run()
    await world.ledger.open_run(run, Spending())
    book = RunBook(run=run, estimate=Spending())
    planned = await compose_wave(a_wave(), world.instruments, None, book, world.ports)
    await world.ledger.remember(run, planned)
    await world.instruments.live.remember(planned)
    came = [(probe, prompt, world.llm.observe(probe, prompt)) for probe, prompt in planned]
    probe, prompt, answer = came[-1]
    donor = planned[1][1]
    return [*came[:-1], (probe, prompt, dataclasses.replace(answer, text=donor.text))], book


def published(world: World) -> dict[str, Outcome]:
    return {judgement.evidence.probe.label: judgement.outcome for judgement in world.telemetry.judgements}


async def test_a_record_that_fails_for_good_hides_no_other_answer():
    """The leak behind it is judged, published, recorded and in the report; the fault is raised after all."""
    world = World(fails_at="record:x/0")
    came, book = await answered(world)
    with pytest.raises(LedgerError):
        await take_in(came, book, world.instruments, world.ports)

    assert list(published(world)) == LABELS
    assert published(world)["x/2"] is Outcome.VIOLATION
    assert [judgement.evidence.probe.label for judgement in book.judgements] == LABELS
    assert [judgement.evidence.probe.label for judgement in world.ledger.judgements] == LABELS[1:]


async def test_after_a_lost_lease_answers_are_judged_and_none_is_recorded():
    """Another replica writes about this job now; what was seen still reaches metrics and log."""
    world = World()
    world.ledger.lost_at = "record:x/0"
    came, book = await answered(world)
    with pytest.raises(LeaseLostError):
        await take_in(came, book, world.instruments, world.ports)

    assert published(world)["x/2"] is Outcome.VIOLATION
    assert world.labels("record") == ["x/0"]


async def test_an_answer_that_cannot_be_read_hides_no_other(monkeypatch: pytest.MonkeyPatch):
    """A bug of ours in reading one text is raised once the others are judged and recorded."""
    real = reception.classify

    def broken(target: object, probe: Probe, prompt: object, observation: Observation) -> object:
        if probe.label == "x/1":
            raise KeyError("a bug")
        return real(target, probe, prompt, observation)

    monkeypatch.setattr(reception, "classify", broken)
    world = World()
    came, book = await answered(world)
    with pytest.raises(KeyError):
        await take_in(came, book, world.instruments, world.ports)

    assert list(published(world)) == world.labels("record") == ["x/0", "x/2"]


async def test_a_record_that_waits_hides_nothing_from_metrics_and_log(monkeypatch: pytest.MonkeyPatch):
    """All three are published while the first one's record still waits, and records keep the wave's order."""
    monkeypatch.setattr(reception, "PUBLISH_SECONDS", 0.05)
    world = World()
    came, book = await answered(world)
    may_go_on = asyncio.Event()
    record = world.ledger.record

    async def waiting(run: object, judgement: object) -> None:
        await may_go_on.wait()
        await record(run, judgement)

    monkeypatch.setattr(world.ledger, "record", waiting)
    taking = asyncio.create_task(take_in(came, book, world.instruments, world.ports))
    async with asyncio.timeout(10):
        while len(world.telemetry.judgements) < 3:  # noqa: ASYNC110 - the fake has no event for it
            await asyncio.sleep(0.01)
    assert not taking.done()
    assert world.labels("record") == []
    may_go_on.set()
    judgements = await asyncio.wait_for(taking, 10)

    assert [judgement.evidence.probe.label for judgement in judgements] == LABELS
    assert world.labels("record") == LABELS


async def test_what_is_cut_leaves_no_record_under_way(monkeypatch: pytest.MonkeyPatch):
    """Once it has ended, nothing writes any more."""
    monkeypatch.setattr(reception, "PUBLISH_SECONDS", 0.01)
    world = World()
    came, book = await answered(world)
    ended: list[str] = []

    async def waiting(run: object, judgement: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cut")

    monkeypatch.setattr(world.ledger, "record", waiting)
    taking = asyncio.create_task(take_in(came, book, world.instruments, world.ports))
    async with asyncio.timeout(10):
        while len(world.telemetry.judgements) < 3:  # noqa: ASYNC110 - the fake has no event for it
            await asyncio.sleep(0.01)
    taking.cancel()
    await asyncio.wait([taking], timeout=10)
    assert taking.cancelled()
    assert ended == ["cut"] * 3
