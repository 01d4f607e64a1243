from prober.lab.cache.store import CacheStore
from prober.lab.cache.tiers import Stored
from prober.lab.tokenizer import Tokenizer
from tests.support.cache_bench import TIERED, cache_bench, prompt_of


def same_place(_key: bytes, place: int, _places: int) -> int:
    return place


def test_the_disk_outlives_its_cluster():
    """What one cluster has stored, the next one finds, as far as there is room."""
    store = CacheStore(Tokenizer())
    disk = store.open(256, 64, same_place)
    for number in range(4):
        disk.put(bytes([number]), Stored(b"row", 0.0))
    assert len(store.open(256, 64, same_place)) == 4
    assert len(store.open(128, 64, same_place)) == 2


def test_pages_of_another_size_are_of_no_use():
    """A cluster with other pages begins with an empty disk."""
    store = CacheStore(Tokenizer())
    store.open(256, 64, same_place).put(b"key", Stored(b"row", 0.0))
    assert len(store.open(256, 16, same_place)) == 0


async def test_a_restart_with_a_warm_store_reads_the_own_pages():
    """Prompts from before a restart are restored afterwards, each its own."""
    async with cache_bench(TIERED) as old:
        for start in (1, 2, 3):
            await old.serve(prompt_of(start, 40))
    async with cache_bench(TIERED, old.store) as new:
        for start in (1, 2, 3):
            served = await new.serve(prompt_of(start, 40))
            assert served.read == prompt_of(start, 40)
            assert served.cached_tokens == 36
        assert new.counters["pages_loaded"] == 27


async def test_without_a_disk_nothing_outlives():
    """The host tier ends with its process."""
    async with cache_bench(TIERED, disk_tokens=0) as old:
        await old.serve(prompt_of(1, 40))
    async with cache_bench(TIERED, old.store, disk_tokens=0) as new:
        assert (await new.serve(prompt_of(1, 40))).cached_tokens == 0
