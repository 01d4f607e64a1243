"""One wave of several probes."""

import asyncio
import dataclasses
import hashlib

import pytest

from prober.domain.campaign import Run
from prober.domain.canary import Canary
from prober.domain.observation import Observation
from prober.domain.options import RequestOptions
from prober.domain.probe import Expectation, Probe, PromptSpec, Role, Wave
from prober.domain.prompt import Prompt
from prober.domain.verdict import Spending
from prober.prompt.tokens import Calibration, calibrate, calibration_specs
from prober.runner.book import RunBook
from prober.runner.wave import compose_wave, mint, send_wave, wave_costs
from tests.support.ports import TENANTS, World, small_run


def a_wave(*offsets: float, rewrite_of: Canary | None = None) -> Wave:
    """Probes of so many start offsets, of the tenants in turn."""
    return Wave(
        probes=tuple(
            Probe(
                label=f"x/{number}",
                scenario="x",
                tenant=TENANTS[number % 2],
                role=Role.CHECK,
                prompt=PromptSpec(filler_lines=6, rewrite_of=rewrite_of),
                expectation=Expectation.SERVE,
                start_offset_seconds=offset,
            )
            for number, offset in enumerate(offsets)
        ),
        purpose="see",
    )


async def opened(world: World) -> tuple[Run, RunBook]:
    run = small_run()
    await world.ledger.open_run(run, Spending())
    return run, RunBook(run=run, estimate=Spending())


async def test_judgements_come_in_the_wave_s_order_whoever_answers_first():
    """A scenario can tell its probes apart by place."""
    gates = {"x/0": asyncio.Event(), "x/1": asyncio.Event(), "x/2": asyncio.Event()}
    answered: list[str] = []

    async def respond(probe: Probe, prompt: Prompt) -> Observation:
        await gates[probe.label].wait()
        answered.append(probe.label)
        before = {"x/2": "x/1", "x/1": "x/0"}.get(probe.label)
        if before is not None:
            gates[before].set()
        return world.llm.observe(probe, prompt)

    world = World(respond)
    _, book = await opened(world)
    planned = await compose_wave(a_wave(0.0, 0.0, 0.0), world.instruments, None, book, world.ports)
    gates["x/2"].set()
    judgements = await asyncio.wait_for(send_wave(planned, book, world.instruments, world.ports), 10)

    assert answered == ["x/2", "x/1", "x/0"]
    assert [judgement.evidence.probe.label for judgement in judgements] == ["x/0", "x/1", "x/2"]
    assert [judgement.evidence.prompt.canary.tenant_number for judgement in judgements] == [1, 2, 1]
    assert book.judgements == list(judgements)


async def test_probes_start_at_their_offsets():
    """The wave's choreography is kept: a probe with an offset starts so much later, all others at once."""
    world = World()
    loop = asyncio.get_running_loop()
    started: dict[str, float] = {}

    def respond(probe: Probe, prompt: Prompt) -> Observation:
        started[probe.label] = loop.time()
        return world.llm.observe(probe, prompt)

    world.endpoint.respond = respond
    _, book = await opened(world)
    planned = await compose_wave(a_wave(0.06, 0.0), world.instruments, None, book, world.ports)
    begun = loop.time()
    await send_wave(planned, book, world.instruments, world.ports)

    assert started["x/0"] - begun >= 0.06
    assert started["x/1"] < started["x/0"]


async def test_every_detector_sees_the_run_up_to_the_probe_before():
    """Evidence of a wave's second probe holds the first one's."""
    world = World()
    _, book = await opened(world)
    planned = await compose_wave(a_wave(0.0, 0.0), world.instruments, None, book, world.ports)
    first, second = await send_wave(planned, book, world.instruments, world.ports)

    assert (first.evidence.history.probes, second.evidence.history.probes) == (0, 1)


async def test_a_rewrite_bears_the_canary_of_its_original():
    """The very text of an earlier probe is sent again: no new canary is drawn for it."""
    world = World()
    _, book = await opened(world)
    original = Canary.of(1, 0, 77)
    planned = await compose_wave(a_wave(0.0, rewrite_of=original), world.instruments, None, book, world.ports)

    assert planned[0][1].canary == original
    assert world.serials.drawn == 0


def test_a_minted_canary_names_tenant_and_epoch():
    """Whoever finds it knows whose it is and under which key it was sent."""
    world = World()
    world.serials.given = [123]
    canary = mint(a_wave(0.0).probes[0], world.instruments, world.ports)

    assert canary == Canary.of(TENANTS[0].number, world.instruments.keyring.current_epoch, 123)


@pytest.mark.parametrize(("planned_tokens", "prompt_tokens"), [(5_000, 5_000), (None, 300)])
def test_a_wave_is_reckoned_at_its_most(planned_tokens: int | None, prompt_tokens: int):
    """By tenant: planned tokens where they are known, three per word before; the whole output limit in any case."""
    probe, other = a_wave(0.0, 0.0).probes
    prompt = Prompt(
        canary=Canary.of(1, 0, 1),
        text="",
        needles=(),
        filler_words=100,
        planned_tokens=planned_tokens,
        token_tolerance=2,
    )

    costs = wave_costs([(probe, prompt), (other, prompt), (probe, prompt)])

    one = Spending(requests=1, prompt_tokens=prompt_tokens, output_tokens=probe.max_output_tokens)
    assert costs == {probe.tenant.name: one + one, other.tenant.name: one}


async def test_what_a_probe_asks_for_is_known_when_its_answer_is_read():
    """Choices are held from before sending on: a neighbour's constraint is seen in an answer of the same wave."""
    world = World(lambda probe, prompt: dataclasses.replace(world.llm.observe(probe, prompt), text="crimson"))
    _, book = await opened(world)
    free, constrained = a_wave(0.0, 0.0).probes
    constrained = dataclasses.replace(constrained, options=RequestOptions(choices=("crimson",)))
    wave = Wave(probes=(free, constrained), purpose="see")
    planned = await compose_wave(wave, world.instruments, None, book, world.ports)
    first, second = await send_wave(planned, book, world.instruments, world.ports)

    assert (first.evidence.reading.foreign_choice, first.evidence.reading.is_own_choice) == ("crimson", False)
    assert (second.evidence.reading.foreign_choice, second.evidence.reading.is_own_choice) == ("", True)


async def test_evidence_keeps_the_prompts_hash_and_not_its_text():
    """Replays are told by the hash, long after the text is gone."""
    world = World()
    _, book = await opened(world)
    planned = await compose_wave(a_wave(0.0, 0.0), world.instruments, None, book, world.ports)
    judgements = await send_wave(planned, book, world.instruments, world.ports)

    for (_, prompt), judgement in zip(planned, judgements, strict=True):
        assert judgement.evidence.prompt.text == ""
        assert judgement.evidence.prompt.text_sha256 == hashlib.sha256(prompt.text.encode()).hexdigest()


async def test_any_tenant_can_send_an_earlier_text_again():
    """A replay bears the bytes and the canary of the original, whoever sends it, without a calibration."""
    world = World()
    _, book = await opened(world)
    (first, *_) = planned = await compose_wave(a_wave(0.0), world.instruments, None, book, world.ports)
    await send_wave(planned, book, world.instruments, world.ports)
    replays = a_wave(0.0, 0.0, rewrite_of=first[1].canary).probes
    wave = Wave(probes=tuple(dataclasses.replace(p, label=f"again/{p.label}") for p in replays), purpose="see")
    again = await compose_wave(wave, world.instruments, None, book, world.ports)

    assert [prompt for _, prompt in again] == [first[1], first[1]]
    assert {probe.tenant.number for probe, _ in again} == {1, 2}
    judgements = await send_wave(again, book, world.instruments, world.ports)
    assert all(judgement.evidence.reading.foreign == () for judgement in judgements)


def measured(per_line: int) -> Calibration:
    """A calibration by a target that counts so many tokens per line."""
    form = PromptSpec().form
    specs = calibration_specs(form)
    counts = [150 + per_line * (spec.filler_lines or 0) + 16 * spec.instruction_lines for spec in specs]
    return calibrate(form, counts)


async def test_a_sized_text_comes_again_byte_for_byte_although_tokens_were_measured_anew():
    """What it was composed by belongs to the text; what another LLM counts of it is not foretold."""
    world = World()
    _, book = await opened(world)
    first, second = measured(17), measured(31)
    (probe,) = a_wave(0.0).probes
    sized = dataclasses.replace(probe, prompt=PromptSpec(tokens=2_000))
    ((_, original),) = await compose_wave(
        Wave(probes=(sized,), purpose="see"), world.instruments, first, book, world.ports
    )
    again = dataclasses.replace(sized, prompt=dataclasses.replace(sized.prompt, rewrite_of=original.canary))
    wave = Wave(probes=(again, sized), purpose="see")

    (_, same), _ = await compose_wave(wave, world.instruments, measured(17), book, world.ports)
    (_, replayed), (_, fresh) = await compose_wave(wave, world.instruments, second, book, world.ports)

    assert same == original
    assert (replayed.text, replayed.text_sha256) == (original.text, original.text_sha256)
    assert (original.planned_tokens, replayed.planned_tokens, fresh.planned_tokens) == (2_000, None, 2_000)
    assert fresh.filler_words < original.filler_words
