"""One wave of several probes."""

import asyncio

import pytest

from prober.domain.campaign import Run
from prober.domain.canary import Canary
from prober.domain.observation import Observation
from prober.domain.probe import Expectation, Probe, PromptSpec, Role, Wave
from prober.domain.prompt import Prompt
from prober.domain.verdict import Spending
from prober.runner.book import RunBook
from prober.runner.wave import compose_wave, mint, send_wave, wave_cost
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
    planned = await compose_wave(a_wave(0.0, 0.0, 0.0), world.instruments, None, world.ports)
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
    planned = await compose_wave(a_wave(0.06, 0.0), world.instruments, None, world.ports)
    begun = loop.time()
    await send_wave(planned, book, world.instruments, world.ports)

    assert started["x/0"] - begun >= 0.06
    assert started["x/1"] < started["x/0"]


async def test_every_detector_sees_the_run_up_to_the_probe_before():
    """Evidence of a wave's second probe holds the first one's."""
    world = World()
    _, book = await opened(world)
    planned = await compose_wave(a_wave(0.0, 0.0), world.instruments, None, world.ports)
    first, second = await send_wave(planned, book, world.instruments, world.ports)

    assert (first.evidence.history.probes, second.evidence.history.probes) == (0, 1)


async def test_a_rewrite_bears_the_canary_of_its_original():
    """The very text of an earlier probe is sent again: no new canary is drawn for it."""
    world = World()
    original = Canary.of(1, 0, 77)
    planned = await compose_wave(a_wave(0.0, rewrite_of=original), world.instruments, None, world.ports)

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
    """Planned tokens where they are known, three per word before; the whole output limit in any case."""
    probe = a_wave(0.0).probes[0]
    prompt = Prompt(
        canary=Canary.of(1, 0, 1),
        text="",
        needles=(),
        filler_words=100,
        planned_tokens=planned_tokens,
        token_tolerance=2,
    )

    cost = wave_cost([(probe, prompt), (probe, prompt)])

    assert cost == Spending(requests=2, prompt_tokens=2 * prompt_tokens, output_tokens=2 * probe.max_output_tokens)
