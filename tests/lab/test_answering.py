import asyncio
import contextlib
import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.lab.cluster import Cluster
from prober.lab.events import Chunk, GenerateRequest
from prober.lab.scenes import SCENES
from prober.lab.settings import Honesty, LabSettings, Topology
from tests.support.batch import BATCHED, COPIED, answer, asked, crowd, foreign, staggered, tags, unsound
from tests.support.cluster import SMALL, Reply, ask, hang_up, prompt, request, running, until, words_of

CHOICES = ("red apple", "blue", "green pear of the south")
SMALL_BATCH = {"max_running": 3}
TOPOLOGIES = {
    Topology.AGGREGATED: dataclasses.replace(BATCHED, **SMALL_BATCH),
    Topology.DISAGGREGATED: dataclasses.replace(SCENES["small-disaggregated"], **SMALL_BATCH),
}
KINDS = ("fact", "copy", "constrained", "biased", "verbose", "quitter")


def of_kind(kind: str, tag: str, lines: int) -> GenerateRequest:
    """A request of one kind."""
    if kind == "copy":
        return asked(tag, lines=lines + 2, question=COPIED)
    if kind == "constrained":
        return asked(tag, lines=lines, choices=CHOICES)
    if kind == "biased":
        return asked(tag, lines=lines, favoured_token=1_000 + len(tag), max_tokens=20)
    return asked(tag, lines=lines, wants_logprobs=kind == "verbose", temperature=0.5)


def sound(kind: str, tag: str, lines: int, reply: Reply) -> bool:
    """Whether an answer is what its own request alone leads to."""
    if kind == "copy":
        return reply.text.split() == words_of(tag, 6 + 16 * (lines + 2))[-30:]
    if kind == "constrained":
        return reply.text in CHOICES
    if kind == "biased":
        words = reply.text.split()
        return (len(words), len(set(words)), reply.done.finish_reason) == (20, 1, "length")
    return reply.text == answer(tag)


async def mixed(settings: LabSettings, people: list[tuple[str, int, int]]) -> list[bool]:
    """Whether each of a crowd, (kind, lines, milliseconds of delay), got a sound answer."""
    names = tags(len(people))
    async with running(settings) as cluster:

        async def one(tag: str, kind: str, lines: int, delay: int) -> bool:
            await asyncio.sleep(delay / 1_000)
            asked_for = of_kind(kind, tag, lines)
            if kind != "quitter":
                return sound(kind, tag, lines, await ask(cluster, asked_for))
            stream = cluster.generate(asked_for)
            await anext(stream)
            await stream.aclose()
            return True

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(tag, *person)) for tag, person in zip(names, people, strict=True)]
        return [task.result() for task in tasks]


@pytest.mark.no_coverage
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 8), st.integers(0, 12)), min_size=1, max_size=14),
    st.sampled_from(list(Topology)),
    st.sampled_from([1.0, 1.5, 3.0]),
)
@settings(max_examples=40, derandomize=True, deadline=None)
def test_healthy_rows_never_mix_anything(people: list[tuple[str, int, int]], topology: Topology, accepted: float):
    """Whoever runs beside whom, comes and goes: every answer is what its own request alone leads to."""
    assert all(asyncio.run(mixed(dataclasses.replace(TOPOLOGIES[topology], accept_length=accepted), people)))


@pytest.mark.parametrize("topology", list(Topology))
async def test_a_crowd_moves_rows_and_stays_sound(topology: Topology):
    """With few rows answers often move, in both roles that decode, and nobody's words come into another's answer."""
    replies, cluster = await crowd(dataclasses.replace(BATCHED, topology=topology), waves=4)
    assert foreign(replies) == {}
    assert unsound(replies) == []
    assert cluster.counters["row_moves"] > 5


async def test_answers_beyond_the_rows_wait():
    """No more answers run at a time than there are rows."""
    async with running(BATCHED, max_running=2) as cluster:
        most = 0

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, len(cluster._aggregated._answering.batch.rows))
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        await staggered(cluster, [asked(tag) for tag in tags(7)], 0.0)
        watching.cancel()
        assert most == 2


@pytest.mark.parametrize("topology", list(Topology))
async def test_a_retracted_answer_goes_on_where_it_was(topology: Topology):
    """When the pool runs short the youngest lets go of its pages, is prefilled again and loses no word."""
    settings = dataclasses.replace(
        BATCHED, topology=topology, overcommit=True, prefill_pool_tokens=1_024, decode_pool_tokens=1_024
    )
    names = tags(6)
    async with running(settings) as cluster:
        requests = [
            asked(tag, lines=14, max_tokens=200, **({} if number % 2 else {"favoured_token": 5_000}))
            for number, tag in enumerate(names)
        ]
        replies = await staggered(cluster, requests)
        assert cluster.counters["retractions"] > 0
    for number, (tag, reply) in enumerate(zip(names, replies, strict=True)):
        if number % 2:
            assert reply.text == answer(tag)
        else:
            assert (len(reply.text.split()), len(set(reply.text.split()))) == (200, 1)
        assert reply.done.completion_tokens == len(reply.events) - 1


async def test_hanging_up_while_retracted_loses_no_page():
    """A request that waits for room again can be aborted like any other."""
    async with running(BATCHED, overcommit=True, prefill_pool_tokens=1_024, decode_pool_tokens=1_024) as cluster:
        first, second = tags(2)
        long = asyncio.create_task(ask(cluster, asked(first, lines=24, favoured_token=5_000, max_tokens=400)))
        await until(lambda: cluster.pools["unified"].used_tokens)
        await hang_up(
            cluster,
            asked(second, lines=24, favoured_token=5_001, max_tokens=400),
            lambda: cluster.counters["retractions"],
        )
        assert len((await long).text.split()) == 400


@pytest.mark.no_coverage
async def test_overcommitted_rows_take_no_more_than_there_is():
    """Without overcommit the same crowd waits for room and nobody is retracted."""
    async with running(BATCHED, prefill_pool_tokens=1_024, decode_pool_tokens=1_024) as cluster:
        requests = [asked(tag, lines=14, favoured_token=5_000, max_tokens=200) for tag in tags(6)]
        replies = await staggered(cluster, requests)
        assert cluster.counters["retractions"] == 0
        assert all(reply.done.completion_tokens == 200 for reply in replies)


@pytest.mark.parametrize("mean", [1.0, 1.5, 3.0])
async def test_speculation_says_several_tokens_per_step(mean: float):
    """Chunks carry so many tokens on average, and text and budget are those of single steps."""
    async with running(BATCHED, accept_length=mean) as cluster:
        reply = await ask(cluster, asked("aaax", favoured_token=5_000, max_tokens=300))
        words = [len(event.content.split()) for event in reply.events if isinstance(event, Chunk)]
        assert sum(words) == reply.done.completion_tokens == 300
        assert 0.8 * mean < sum(words) / len(words) < 1.2 * mean
        assert (await ask(cluster, asked("aabx"))).text == answer("aabx")
        cut = await ask(cluster, asked("aacx", max_tokens=5))
        assert (cut.text, cut.done.finish_reason) == (" ".join(answer("aacx").split()[:5]), "length")


async def test_log_probabilities_add_up_to_the_answer():
    """On request every token of the answer comes with its text and a probability; else with none."""
    async with running(BATCHED, accept_length=2.0, honesty=Honesty(reasoning_words=5)) as cluster:
        told = await ask(cluster, asked("aaax", wants_logprobs=True))
        entries = [entry for event in told.events if isinstance(event, Chunk) for entry in event.logprobs]
        assert "".join(entry.text for entry in entries) == told.text == answer("aaax")
        assert len(entries) == told.done.completion_tokens - told.done.reasoning_tokens
        silent = await ask(cluster, asked("aabx"))
        assert not any(event.logprobs for event in silent.events if isinstance(event, Chunk))


async def decoding_seconds(cluster: Cluster, asked_for: GenerateRequest, beside: GenerateRequest | None) -> float:
    """Seconds from the first token to the end, with a request that is sent beside at the first token."""
    async with asyncio.TaskGroup() as group, contextlib.aclosing(cluster.generate(asked_for)) as stream:
        await anext(stream)
        begun = asyncio.get_running_loop().time()
        if beside:
            group.create_task(ask(cluster, beside))
        async for _event in stream:
            pass
        return asyncio.get_running_loop().time() - begun


@pytest.mark.alone
@pytest.mark.parametrize(("topology", "least", "most"), [("aggregated", 1.3, 3.0), ("disaggregated", 0.8, 1.25)])
async def test_a_prefill_beside_slows_the_steps_of_an_aggregated_role(topology: str, least: float, most: float):
    """A chunk of another prompt lengthens the decode steps beside it where both share one machine, and only there.

    A prompt of 8,000 tokens takes 0.74 virtual seconds in chunks of 1,024, which make a step of 0.02 one of 0.051: 40
    steps then take 1.25 seconds instead of 0.8.
    """
    async with running(SMALL, topology=Topology(topology), time_scale=1 / 5) as cluster:
        long = request("amber", prompt("amber", 8_000, cluster.tokenizer), 1)
        alone = await decoding_seconds(cluster, asked("aaax", favoured_token=5_000, max_tokens=40), None)
        beside = await decoding_seconds(cluster, asked("aabx", favoured_token=5_000, max_tokens=40), long)
        assert least < beside / alone < most


@pytest.mark.parametrize("topology", list(Topology))
async def test_a_thinker_without_end_uses_up_its_budget(topology: Topology):
    """Reasoning that does not end leaves no answer: finish reason `length`, all tokens spent, no content."""
    honesty = Honesty(overthinking_rate=1.0)
    async with running(BATCHED, topology=topology, honesty=honesty) as cluster:
        reply = await ask(cluster, asked("aaax", max_tokens=30))
        assert (reply.text, reply.done.finish_reason) == ("", "length")
        assert reply.done.reasoning_tokens == reply.done.completion_tokens == len(reply.reasoning.split()) == 30


@pytest.mark.parametrize("topology", list(Topology))
async def test_neighbours_change_the_wording_and_not_the_phrase(topology: Topology):
    """With batch variation, answers in company differ harmlessly; alone they never do."""
    honesty = Honesty(batch_variation_rate=1.0)
    settings = dataclasses.replace(BATCHED, topology=topology, honesty=honesty)
    async with running(settings) as cluster:
        assert (await ask(cluster, asked("aaax"))).text == answer("aaax")
        assert cluster.counters["batch_variations"] == 0
    replies, cluster = await crowd(settings, waves=2)
    assert cluster.counters["batch_variations"] > 4
    assert 4 < len(unsound(replies)) < 16
    assert foreign(replies) == {}
    assert all(" ".join(words_of(tag, 6)) in reply.text for tag, reply in replies.items())


@pytest.mark.parametrize("topology", list(Topology))
async def test_equal_requests_have_equal_answers(topology: Topology):
    """Greedy answers of an honest cluster do not depend on company, row or time."""
    draw = random.Random(3)
    async with running(BATCHED, topology=topology, max_running=3) as cluster:
        names = [draw.choice(["aaax", "aabx"]) for _ in range(12)]
        replies = await staggered(cluster, [asked(tag) for tag in names])
        assert [reply.text for reply in replies] == [answer(tag) for tag in names]


def test_the_room_that_is_needed():
    """Admission asks for room for the whole answer, or for a page of it when the pool is overcommitted."""
    for overcommit, budget, needed in ((False, 500, 600), (True, 500, 116), (True, 3, 103)):
        answering = Cluster(dataclasses.replace(BATCHED, overcommit=overcommit))._aggregated._answering

        @dataclasses.dataclass
        class Budget:
            max_new_tokens: int

        assert answering.room_needed(100, Budget(budget)) == needed
