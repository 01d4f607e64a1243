import asyncio
import collections
import dataclasses
import random

import pytest

from prober.lab.cluster import Cluster
from prober.lab.events import GenerateRequest
from prober.lab.scenes import SCENES
from prober.lab.settings import Background, Honesty, LabSettings, Topology
from prober.lab.timing import PREFILL_BASE_SECONDS, prefill_seconds
from tests.support.cluster import ask, ask_tokens, prompt, request, running, until
from tests.support.sessions import SESSION_TOKENS, ask_after, come_back, is_sound, park, shared_text

TIERED = SCENES["small-tiered"]
FORGETFUL = dataclasses.replace(TIERED, prefix_cache=False, host_tokens=0, disk_tokens=0)


def crowd(seed: int, cluster: Cluster) -> list[tuple[GenerateRequest, bool]]:
    """Requests of few tenants, salts and beginnings, many of them sent before; and whether the client stays."""
    draw = random.Random(seed)
    asked: list[tuple[GenerateRequest, bool]] = []
    for number in range(40):
        if asked and draw.random() < 0.5:
            again = asked[draw.randrange(len(asked) // 2 + 1)][0]
        else:
            tag = f"{draw.choice('pqr')}{chr(97 + number % 26)}{chr(97 + number // 26)}"
            shared = draw.choice(["", shared_text("one"), shared_text("other", words=400)])
            again = request(tag, shared + prompt(tag, draw.randint(200, 2_400), cluster.tokenizer))
            again = dataclasses.replace(again, tenant=tag[0], cache_salt=draw.choice(["", "", "salt"]))
        asked.append((dataclasses.replace(again, request_id=f"{number}"), draw.random() < 0.8))
    return asked


async def answers(settings: LabSettings, seed: int) -> tuple[dict[str, str], collections.Counter[str]]:
    """Answers to a crowd by request, up to four at a time; and the cluster's counters."""
    texts: dict[str, str] = {}
    async with running(settings) as cluster:
        places = asyncio.Semaphore(4)
        draw = random.Random(seed)

        async def send(asked: GenerateRequest, patience: float | None) -> None:
            async with places:
                try:
                    async with asyncio.timeout(patience):
                        texts[asked.request_id] = (await ask(cluster, asked)).text
                except TimeoutError:
                    pass

        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for asked, stays in crowd(seed, cluster):
                group.create_task(send(asked, None if stays else draw.random() * 0.02))
        assert all(census.foreign == 0 for census in cluster.census)
        return texts, cluster.counters


@pytest.mark.no_coverage
@pytest.mark.parametrize("seed", range(3))
async def test_answers_are_the_same_with_and_without_a_cache(seed: int):
    """Whatever is shared, evicted, restored and hung up on: each answer is the one that needs no cache."""
    plain, _ = await answers(FORGETFUL, seed)
    cached, counters = await answers(TIERED, seed)
    both = plain.keys() & cached.keys()
    assert len(both) >= 24
    assert {name: cached[name] for name in both} == {name: plain[name] for name in both}
    assert counters["cached_tokens"] > 2_000
    assert counters["pages_loaded"] > 0


async def test_usage_reports_what_was_not_computed():
    """A first prompt reports its chat template at most, a replay all but its last token; without a cache, nothing."""
    async with running(SCENES["small-cached"]) as cluster:
        first, again = [(await come_back(cluster, "amber")).done for _ in range(2)]
        assert (first.cached_tokens, again.cached_tokens) == (0, 1_999)
        assert (cluster.census[-1].cached, cluster.census[-1].own, cluster.census[-1].foreign) == (124, 1, 0)
        fresh = await ask_after(cluster, "birch", "", tenant="amber")
        assert fresh.done.cached_tokens == 22
    async with running(FORGETFUL) as cluster:
        assert (await come_back(cluster, "amber")).done.cached_tokens is None


@pytest.mark.alone
async def test_a_hit_skips_the_prefill():
    """The first token of a replay comes after the time of an empty prefill, not after its prompt's."""
    sizes = dataclasses.replace(
        TIERED, context_tokens=65_536, prefill_pool_tokens=131_072, chunked_prefill_tokens=8_192, time_scale=1 / 10
    )
    async with running(sizes) as cluster:
        first, again = [await ask_tokens(cluster, "amber", 60_000, 1) for _ in range(2)]
        saved = (prefill_seconds(60_000) - PREFILL_BASE_SECONDS) / 10
        assert first.first_seconds - again.first_seconds > 0.8 * saved


async def test_six_conversations_do_not_fit_the_device():
    """In the cached scenes the first of six conversations is evicted in part; tiers, where there are any, keep it."""
    for name, least in (("small-cached", 0), ("small-tiered", 1_984)):
        async with running(SCENES[name]) as cluster:
            await park(cluster)
            reply = await come_back(cluster, "amber")
            assert is_sound(reply, "amber")
            assert least <= reply.done.cached_tokens <= 1_984
            assert cluster.counters["pages_evicted"] > 100


async def test_customers_are_cached_like_everyone():
    """Background traffic goes through the cache, and stopping frees all pages whoever was served."""
    busy = dataclasses.replace(
        TIERED, background=Background(customers=3, prompt_tokens=500, requests_per_minute=60_000), is_fresh=False
    )
    async with running(busy) as cluster:
        await until(lambda: cluster.counters["background_requests"] >= 20)
        assert is_sound(await come_back(cluster, "amber"), "amber")


@pytest.mark.no_coverage
async def test_retracted_answers_are_the_same_and_lose_no_page():
    """Answers that were taken out of the batch, pages shared and restored or not, go on as they would have."""
    tight = dataclasses.replace(TIERED, overcommit=True, prefill_pool_tokens=8_320)
    async with running(tight) as cluster:
        await park(cluster, ("amber", "birch", "cedar", "delta"))
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            tasks = {}
            for tag in ("amber", "birch", "cedar", "delta"):
                text = prompt(tag, SESSION_TOKENS, cluster.tokenizer, copy_words=250)
                tasks[tag] = group.create_task(ask(cluster, request(tag, text, max_tokens=300)))
        for tag, task in tasks.items():
            words = task.result().text.split("\n")[1].split()
            assert len(words) == 250
            assert all(word.startswith(tag) for word in words)
        assert cluster.counters["retractions"] > 0
        assert cluster.counters["cached_tokens"] > 2_000


@pytest.mark.no_coverage
async def test_honest_load_failures_change_no_answer():
    """Loads that fail now and then are counted, and each prompt is computed instead."""
    honesty = Honesty(load_failure_rate=0.5)
    async with running(dataclasses.replace(TIERED, honesty=honesty)) as cluster:
        for _ in range(3):
            await park(cluster)
        assert is_sound(await come_back(cluster, "amber"), "amber")
        assert cluster.counters["load_failures"] >= 3
        assert cluster.counters["pages_loaded"] > 100


def test_the_cache_is_the_aggregated_roles():
    """No cluster is built that would ignore its cache, nor one with sizes that cannot be."""
    for changes in (
        {"topology": Topology.DISAGGREGATED},
        {"host_tokens": -1},
        {"load_seconds_per_page": -1.0},
        {"staging_tokens": 1},
    ):
        with pytest.raises(ValueError, match=r"cache|staging"):
            dataclasses.replace(TIERED, **changes)
