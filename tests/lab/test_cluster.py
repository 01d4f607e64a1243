import asyncio
import collections
import contextlib
import json
import random

import numpy as np
import pytest

from prober.domain.errors import LabError
from prober.lab.cluster import COUNTERS, Cluster
from prober.lab.dice import Dice
from prober.lab.events import GenerateRequest
from prober.lab.fixes import Fix, RouterMode
from prober.lab.handoff import (
    METADATA_SLOTS,
    Handoff,
    Metadata,
    MetadataBuffers,
    Rooms,
    Sender,
    TransferChunk,
    TransferLine,
)
from prober.lab.pool import KvPool
from prober.lab.seams import Seams
from prober.lab.settings import Background, Honesty, LabSettings, Topology
from prober.lab.timing import Pace, prefill_seconds
from tests.support.cluster import SMALL, ask, ask_tokens, hang_up, prompt, request, running, until

UPSTREAM = {"stub_handoff": 1.0, "early_release": 1.0}
pytestmark = pytest.mark.alone
TOPOLOGIES = pytest.mark.parametrize("topology", list(Topology))


@TOPOLOGIES
async def test_a_sound_answer_recalls_and_copies_the_own_prompt(topology: Topology):
    """A healthy cluster answers from the request's own pages, with exact usage and a stop."""
    async with running(topology=topology) as cluster:
        reply = await ask_tokens(cluster, "amber", 5_000)
        assert reply.text.startswith("The harbour phrase is amber one two. The lantern phrase is amber three four.\n")
        assert len(reply.text.split("\n")[1].split()) == 30
        assert (reply.done.prompt_tokens, reply.done.finish_reason) == (5_000, "stop")
        assert reply.done.completion_tokens == len(reply.events) - 1 == 47
        assert reply.done.cached_tokens is None


@TOPOLOGIES
async def test_max_tokens_cuts_the_answer(topology: Topology):
    """An answer longer than asked for ends with `length`."""
    async with running(topology=topology) as cluster:
        reply = await ask_tokens(cluster, "amber", 1_000, max_tokens=5)
        assert (reply.text, reply.done.finish_reason) == ("The harbour phrase is amber", "length")


@TOPOLOGIES
async def test_concurrent_tenants_do_not_mix(topology: Topology):
    """Twelve requests in flight together are each answered from their own text, whatever the pools allow at a time."""
    tags = [f"t{chr(97 + number)}" for number in range(12)]
    async with running(topology=topology) as cluster:
        async with asyncio.TaskGroup() as group:
            tasks = {
                tag: group.create_task(ask_tokens(cluster, tag, 900 + 700 * number)) for number, tag in enumerate(tags)
            }
        for tag, task in tasks.items():
            assert all(word.startswith(tag) for word in task.result().text.split("\n")[1].split())
        assert all(census.foreign == 0 for census in cluster.census)


async def test_a_prefill_takes_its_virtual_time():
    """First-token times follow the prefill law at the time scale: never quicker, and no slower than the machine is."""
    async with running(time_scale=1 / 10) as cluster:
        times = [(await ask_tokens(cluster, "amber", 9_000, 1)).first_seconds for _ in range(3)]
        assert prefill_seconds(9_000) / 10 < min(times) < 3 * prefill_seconds(9_000) / 10


async def test_one_long_prompt_at_a_time_while_short_ones_ride_along():
    """Two long prompts queue behind each other; one no longer than a chunk does not wait for them."""
    settings = LabSettings(
        context_tokens=65_536,
        prefill_pool_tokens=65_536,
        decode_pool_tokens=131_072,
        chunked_prefill_tokens=1_024,
        time_scale=1 / 4,
    )
    async with running(settings) as cluster:
        asked = [request(tag, prompt(tag, 30_000, cluster.tokenizer), 1) for tag in ("amber", "birch")]
        long = [asyncio.create_task(ask(cluster, each)) for each in asked]
        await until(lambda: cluster.pools["prefill"].used_tokens)
        await ask_tokens(cluster, "cedar", 500, 1)
        assert not any(task.done() for task in long)
        first, second = sorted([(await task).first_seconds for task in long])
        assert second - first > 0.5 * prefill_seconds(30_000) / 4


async def test_timing_noise_spreads_and_keeps_its_floor():
    """With noise first tokens spread, yet never come in less than half the law's time."""
    async with running(honesty=Honesty(timing_noise=1.0), time_scale=1 / 100) as cluster:
        times = [(await ask_tokens(cluster, "amber", 500, 1)).first_seconds for _ in range(25)]
        assert min(times) >= 0.5 * prefill_seconds(500) / 100
        assert max(times) > 1.2 * min(times)


@pytest.mark.no_coverage
@TOPOLOGIES
@pytest.mark.parametrize(
    ("faults", "fixes"),
    [
        ({}, frozenset()),
        (UPSTREAM, frozenset()),
        (UPSTREAM, frozenset(Fix)),
        (UPSTREAM, frozenset({Fix.RETIRE_AFTER_FORWARD, Fix.DEFERRED_RELEASE})),
    ],
)
async def test_hanging_up_at_any_moment_loses_no_page(
    topology: Topology, faults: dict[str, float], fixes: frozenset[str]
):
    """Whatever was in flight and wherever clients hung up, in the end every page is free."""
    draw = random.Random(7)
    for router in RouterMode:
        async with running(
            topology=topology, faults=faults, fixes=fixes, router=router, waiting_timeout_seconds=60.0
        ) as cluster:
            async with asyncio.TaskGroup() as group:
                for number in range(16):
                    asked = request(
                        f"t{number}", prompt("amber", draw.choice((200, 3_000, 9_000, 12_000)), cluster.tokenizer)
                    )
                    group.create_task(_hang_up_after(cluster, asked, draw.uniform(0, 0.02)))
            await until(lambda: all(pool.used_tokens == 0 for pool in cluster.pools.values()))
            assert (await ask_tokens(cluster, "birch", 9_000)).text.count("birch") == 32


async def _hang_up_after(cluster: Cluster, asked: GenerateRequest, seconds: float) -> None:
    due = asyncio.get_running_loop().time() + seconds
    await hang_up(cluster, asked, lambda: asyncio.get_running_loop().time() >= due)


@TOPOLOGIES
async def test_stopping_ends_open_requests_and_frees_everything(topology: Topology):
    """A stop in mid-flight ends every request with the lab's own error and leaves no page held."""
    async with running(topology=topology, time_scale=1.0) as cluster:
        pending = [asyncio.create_task(ask_tokens(cluster, tag, 9_000)) for tag in ("amber", "birch")]
        await until(lambda: any(pool.used_tokens for pool in cluster.pools.values()))
        await cluster.stop()
        for task in pending:
            with pytest.raises(LabError):
                await task


async def test_a_prefill_that_never_hears_from_decode_gives_up():
    """A room that decode cannot serve in time is refused by the prefill, not kept for ever."""
    async with running(router=RouterMode.CANCEL_ON_REFUSAL, waiting_timeout_seconds=5.0) as cluster:
        held = await cluster.pools["decode"].reserve(17_152)
        reply = await ask_tokens(cluster, "amber", 1_000)
        assert (reply.refusal.status, cluster.counters["bootstrap_failures"]) == (500, 1)
        held.release()


async def test_reasoning_comes_first_and_counts():
    """Reasoning has its own channel, precedes the answer, and uses up the answer's budget."""
    async with running(honesty=Honesty(reasoning_words=10)) as cluster:
        reply = await ask_tokens(cluster, "amber", 1_000, max_tokens=14)
        assert len(reply.reasoning.split()) == 10
        assert reply.text == "The harbour phrase is"
        assert (reply.done.reasoning_tokens, reply.done.completion_tokens) == (10, 14)
        starved = await ask_tokens(cluster, "amber", 1_000, max_tokens=6)
        assert (starved.text, starved.done.reasoning_tokens) == ("", 6)


async def test_imperfections_are_counted_where_metrics_find_them():
    """What honesty switches on shows in the cluster's counters."""
    honesty = Honesty(copy_error_rate=0.5, recall_miss_head=1.0)
    async with running(honesty=honesty) as cluster:
        await ask_tokens(cluster, "amber", 1_000)
        assert cluster.counters["copy_errors"] > 0
        assert cluster.counters["recall_misses"] > 0


async def test_background_customers_keep_coming_at_a_bounded_rate():
    """Customers send requests of their own while the cluster runs, no faster than configured."""
    background = Background(customers=3, prompt_tokens=400, requests_per_minute=1_200)
    async with running(background=background, is_fresh=False) as cluster:
        begun = asyncio.get_running_loop().time()
        await until(lambda: cluster.counters["background_requests"] >= 3)
        assert asyncio.get_running_loop().time() - begun >= 3 * 60 / 1_200
        await until(lambda: cluster.census)
        assert cluster.census[0].tenant.startswith("customer-")


async def test_facts_are_plain_and_complete():
    """Facts serialise to JSON, name every pool and counter, and hold no key."""
    async with running(keys={"sk-planted": "tenant-a"}) as cluster:
        text = json.dumps(cluster.facts())
        assert "sk-planted" not in text
        facts = json.loads(text)
        assert facts["roles"]["prefill"]["max_total_num_tokens"] == SMALL.prefill_pool_tokens
        assert facts["roles"]["decode"]["max_req_input_len"] == 16_378
        assert set(facts["counters"]) == set(COUNTERS)
        assert not any(facts["counters"].values())
    async with running(topology=Topology.AGGREGATED) as cluster:
        assert list(cluster.facts()["roles"]) == ["unified"]


async def test_every_counter_is_announced():
    """No counter appears that was not there, at zero, from the start."""
    async with running(faults=UPSTREAM) as cluster:
        await ask_tokens(cluster, "amber", 9_000)
        await ask_tokens(cluster, "cedar", 12_000)
        await ask_tokens(cluster, "over", 17_000)
        assert {name for name in cluster.counters if not name.startswith("fault_")} == set(COUNTERS)


async def test_metadata_of_another_room_is_refused():
    """Decode refuses a metadata slot that another request has written."""
    async with running(router=RouterMode.DECODE_ONLY, time_scale=1 / 50) as cluster:
        asking = asyncio.create_task(ask_tokens(cluster, "amber", 1_000))
        await until(lambda: cluster.pools["decode"].used_tokens)
        cluster._decode.metadata.slots = Overwritten(cluster._decode.metadata.slots)
        reply = await asking
        assert reply.refusal.status == 500
        assert "received metadata from bootstrap_room=999" in reply.refusal.message


class Overwritten(list[Metadata]):
    """Slots in which a stranger's metadata always wins."""

    def __getitem__(self, index: object) -> Metadata:
        """Answer with the stranger's."""
        return Metadata(room=999)


async def test_an_aborted_sender_finishes_the_chunk_it_began_and_no_other():
    """Whether a room still stands is asked between chunks only."""
    source, destination = KvPool(64, 4, need_sort=True), KvPool(64, 4, need_sort=True)
    handoff = Handoff(1, destination, MetadataBuffers())
    lease = await source.reserve(16)
    lease.take(16)
    lease.write(0, np.arange(1, 17, dtype=np.int32), 5)
    seams = Seams(Dice({}, 0, collections.Counter()))
    rooms = Rooms(seams)
    rooms.publish(handoff, lease.pages, 0)
    sender = Sender(1, TransferLine(rooms, source, Pace(0.01, 0.0, 0), 0.5, seams))
    sending = asyncio.create_task(sender.run())
    for page in range(2):
        sender.send(TransferChunk(first_page=2 * page, pages=lease.pages[2 * page : 2 * page + 2], tokens=8))
    await asyncio.sleep(0.01)
    sender.abort()
    await sending
    assert destination.owners[lease.pages].tolist() == [5, 5, 0, 0]
    assert not handoff.settled.is_set()


async def test_closing_before_the_first_event_is_a_quiet_abort():
    """A client that leaves before anything came leaves nothing behind."""
    async with running(time_scale=1 / 10) as cluster:
        stream = cluster.generate(request("amber", prompt("amber", 9_000, cluster.tokenizer)))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.02):
                await anext(stream)
        await stream.aclose()
        await until(lambda: not cluster.pools["decode"].used_tokens)
        assert (await ask(cluster, request("birch", prompt("birch", 500, cluster.tokenizer)))).text


async def test_leaving_while_metadata_slots_are_short_loses_nothing():
    """A request that waits for a metadata slot can be aborted like any other."""
    async with running() as cluster:
        slots = [await cluster._decode.metadata.take() for _ in range(METADATA_SLOTS)]
        decode = cluster.pools["decode"]
        asked = request("amber", prompt("amber", 900, cluster.tokenizer))
        await hang_up(cluster, asked, lambda: decode.available_tokens < SMALL.decode_pool_tokens)
        assert decode.available_tokens == SMALL.decode_pool_tokens
        for slot in slots:
            cluster._decode.metadata.give_back(slot)


async def test_not_even_a_stop_recalls_a_write_that_was_begun():
    """Cancelling a prefill twice still lets the chunk on the wire land before its pages are free."""
    async with running(time_scale=1 / 50, transfer_seconds_per_token=4e-2, abort_notice_seconds=0.1) as cluster:
        decode, prefill = cluster.pools["decode"], cluster.pools["prefill"]
        asked = request("amber", prompt("amber", 9_000, cluster.tokenizer))
        await hang_up(cluster, asked, prefill.owners.any)
        await asyncio.sleep(1 / 50)
        assert not decode.owners.any()
        await cluster.stop()
        assert decode.owners.any()
