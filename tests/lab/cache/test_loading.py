import asyncio
import dataclasses

import numpy as np
import pytest

from prober.lab.cache.loading import LoadError, Staging
from prober.lab.fixes import Fix
from tests.support.cache_bench import TIERED, CacheBench, cache_bench, prompt_of

FAILING = dataclasses.replace(TIERED.honesty, load_failure_rate=1.0)


async def evicted(bench: CacheBench, prompts: int = 3) -> None:
    """Serve prompts until the first one is in the tiers."""
    for start in range(1, prompts + 1):
        await bench.serve(prompt_of(start, 40))
    await asyncio.sleep(0.01)


async def test_evicted_pages_come_back_into_pages_of_their_own():
    """What a tier holds is loaded behind what the device still has, and belongs to the request that loaded it."""
    async with cache_bench(TIERED) as bench:
        await evicted(bench)
        served = await bench.serve(prompt_of(1, 40))
        assert served.read == prompt_of(1, 40)
        assert served.cached_tokens == 36
        assert 0 < bench.counters["pages_loaded"] < 10
        assert served.owners.count(served.room) == bench.counters["pages_loaded"] + 1


@pytest.mark.alone
async def test_a_load_takes_its_time():
    """Pages are loaded over virtual time, so many seconds each."""
    async with cache_bench(TIERED, load_seconds_per_page=0.0) as bench:
        await evicted(bench)
        begun = asyncio.get_running_loop().time()
        await bench.serve(prompt_of(1, 40))
        quick = asyncio.get_running_loop().time() - begun
    async with cache_bench(TIERED, load_seconds_per_page=5_000.0) as bench:
        await evicted(bench)
        begun = asyncio.get_running_loop().time()
        await bench.serve(prompt_of(1, 40))
        slow = asyncio.get_running_loop().time() - begun
        assert slow - quick > 0.5 * bench.counters["pages_loaded"] * 5_000.0 * bench.settings.time_scale


async def test_a_failed_load_is_computed_instead():
    """An honest failure costs time and changes nothing else."""
    async with cache_bench(TIERED, honesty=FAILING) as bench:
        await evicted(bench)
        served = await bench.serve(prompt_of(1, 40))
        assert served.read == prompt_of(1, 40)
        assert 0 < served.cached_tokens < 36
        assert (bench.counters["load_failures"], bench.counters["pages_loaded"]) == (1, 0)


async def test_a_failed_load_fails_the_request_where_that_is_the_policy():
    """With `fail_failed_loads` nothing is computed, and the pages are given back."""
    async with cache_bench(TIERED, honesty=FAILING, fixes=frozenset({Fix.FAIL_FAILED_LOADS})) as bench:
        await evicted(bench)
        with pytest.raises(LoadError, match="KV load failed for request 4"):
            await bench.serve(prompt_of(1, 40))


async def test_an_aborted_load_gives_everything_back():
    """A client that leaves during a load keeps neither pages nor staging memory from others."""
    async with cache_bench(TIERED, load_seconds_per_page=20_000.0) as bench:
        await evicted(bench)
        for _ in range(3):
            serving = asyncio.create_task(bench.serve(prompt_of(1, 40)))
            await asyncio.sleep(0.02)
            serving.cancel()
            await asyncio.wait([serving])
            assert serving.cancelled()
        assert bench.counters["pages_loaded"] == 0
        assert (await bench.serve(prompt_of(1, 40))).read == prompt_of(1, 40)


async def test_late_copies_land_only_where_their_request_still_has_pages():
    """Of a request that gave its pages up meanwhile, nothing arrives in what others have made of them."""
    async with cache_bench(TIERED, faults={"load_race": 1.0}) as bench:
        await evicted(bench)
        job = bench.job(np.array(prompt_of(1, 40), dtype=np.int32), "a", "", 1)
        prefix = bench.cache.prefix(job, job.ids)
        lease = await bench.pool.reserve(41, prefix)
        await bench.compute(job, prefix, lease)
        assert sum(len(copy.pages) for copy in prefix.late) == bench.counters["fault_load_race"] > 0
        lease.give_up()
        writes = bench.pool.read_pages(np.arange(bench.pool.pages + 1)).copy()
        bench.cache.keep(prefix, lease, is_computed=True)
        lease.release()
        assert (bench.pool.read_pages(np.arange(bench.pool.pages + 1)) == writes).all()


async def test_staging_memory_is_shared():
    """Whoever finds none left waits; nobody is given more than there is."""
    staging = Staging(3)
    assert await staging.take(5) == 3
    waiting = asyncio.create_task(staging.take(2))
    await asyncio.sleep(0)
    assert not waiting.done()
    staging.give_back(1)
    async with asyncio.timeout(1):
        assert await waiting == 1
    staging.give_back(3)
    assert staging.free == 3
