"""A prefix cache with its pool and forward pass, and nothing around them."""

import asyncio
import collections
import contextlib
import dataclasses

import numpy as np

from prober.lab.cache.prefix import Prefix
from prober.lab.cache.prefix_cache import PrefixCache
from prober.lab.cache.store import CacheStore
from prober.lab.dice import Dice
from prober.lab.events import GenerateRequest
from prober.lab.faults import seams_of
from prober.lab.forward import ForwardPass
from prober.lab.handoff import Job
from prober.lab.llm import SimulatedLlm
from prober.lab.pool import KvPool, Lease
from prober.lab.settings import LabSettings, Topology
from prober.lab.timing import Pace
from prober.lab.tokenizer import Ids, Tokenizer

TINY = LabSettings(
    topology=Topology.AGGREGATED,
    prefix_cache=True,
    page_tokens=4,
    chunked_prefill_tokens=8,
    context_tokens=64,
    prefill_pool_tokens=96,
    decode_pool_tokens=96,
    time_scale=1e-5,
)
"""24 pages of four tokens."""
TIERED = dataclasses.replace(TINY, host_tokens=48, disk_tokens=128, staging_tokens=16)


@dataclasses.dataclass(frozen=True)
class Served:
    """What one request found."""

    read: list[int]
    """Its prompt, as its pages hold it when the answer ends."""
    cached_tokens: int
    owners: list[int]
    """Who wrote its prompt's pages."""
    room: int


class CacheBench:
    """Requests are ids instead of text, and answers are ids nobody asks for."""

    def __init__(self, settings: LabSettings = TINY, store: CacheStore | None = None, **changes: object) -> None:
        self.settings = dataclasses.replace(settings, **changes)
        self.counters: collections.Counter[str] = collections.Counter()
        self.store = store or CacheStore(Tokenizer())
        pace = Pace(self.settings.time_scale, 0.0, 0)
        dice = Dice(self.settings.faults, self.settings.seed, self.counters)
        seams = seams_of(self.settings.faults, self.settings.fixes, dice)
        self.pool = KvPool(self.settings.prefill_pool_tokens, self.settings.page_tokens, need_sort=False)
        self.cache = PrefixCache(self.settings, seams, self.pool, pace, self.store, self.counters)
        llm = SimulatedLlm(self.store.tokenizer, self.settings.honesty, self.counters)
        self.forward = ForwardPass(self.settings, pace, llm, self.counters)
        self._rooms = 0

    def job(self, ids: Ids, tenant: str, salt: str, answer: int) -> Job:
        self._rooms += 1
        request = GenerateRequest(tenant=tenant, messages=(), max_tokens=answer, cache_salt=salt)
        return Job(room=self._rooms, request=request, ids=ids, max_new_tokens=answer)

    async def serve(self, numbers: list[int], tenant: str = "a", salt: str = "", answer: int = 3) -> Served:
        """Prefill a prompt and answer it."""
        ids = np.array(numbers, dtype=np.int32)
        job = self.job(ids, tenant, salt, answer)
        prefix = self.cache.prefix(job, ids)
        lease = await self.pool.reserve(len(ids) + answer, prefix)
        is_computed = False
        try:
            await self.compute(job, prefix, lease)
            is_computed = True
            for made in range(answer):
                await asyncio.sleep(0)
                lease.write(len(ids) + made, np.array([-1 - job.room], dtype=np.int32), job.room)
            pages = lease.pages[: self.pool.pages_for(len(ids))]
            return Served(
                lease.read(len(ids)).tolist(), prefix.cached_tokens, self.pool.owners[pages].tolist(), job.room
            )
        finally:
            self.cache.keep(prefix, lease, is_computed=is_computed)
            lease.release()

    async def compute(self, job: Job, prefix: Prefix, lease: Lease) -> None:
        start = await self.cache.restore(prefix, lease)
        await self.forward.run(
            job.ids,
            lease,
            job.room,
            start=start,
            on_taken=lambda start, end: self.cache.on_taken(prefix, lease, start, end),
        )

    def all_pages_are_accounted_for(self) -> bool:
        """Nobody holds a page: each is free, or idle in the cache."""
        return self.pool.used_tokens == 0 and self.pool.available_tokens == self.pool.pages * self.pool.page_tokens


@contextlib.asynccontextmanager
async def cache_bench(settings: LabSettings = TINY, store: CacheStore | None = None, **changes: object):
    """A bench; at its end every page is accounted for, and then free."""
    bench = CacheBench(settings, store, **changes)
    yield bench
    assert bench.all_pages_are_accounted_for()
    bench.cache.close()
    assert bench.cache.idle == 0
    assert bench.all_pages_are_accounted_for()


def prompt_of(start: int, tokens: int) -> list[int]:
    """Ids that no prompt with another start has."""
    return list(range(1_000 * start, 1_000 * start + tokens))
