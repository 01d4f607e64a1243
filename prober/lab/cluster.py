"""The lab's inference cluster: everything behind the HTTP surface."""

import asyncio
import collections
import contextlib
import itertools
from collections.abc import AsyncGenerator

from prober.lab.aggregated import AggregatedRole
from prober.lab.answering import Answering
from prober.lab.cache.prefix_cache import PrefixCache
from prober.lab.cache.store import CacheStore
from prober.lab.census import Census
from prober.lab.crew import Crew
from prober.lab.customers import Customers
from prober.lab.decode import DecodeRole
from prober.lab.dice import Dice
from prober.lab.events import Chunk, Done, Event, GenerateRequest
from prober.lab.faults import seams_of
from prober.lab.forward import ForwardPass
from prober.lab.handoff import Job, Rooms
from prober.lab.limits import door_refusal, late_refusal
from prober.lab.llm import SimulatedLlm
from prober.lab.pool import KvPool
from prober.lab.prefill import PrefillRole
from prober.lab.queueing import Queueing
from prober.lab.router import EventPump, Router
from prober.lab.settings import LabSettings, Topology
from prober.lab.timing import Pace
from prober.lab.tokenizer import Ids, Tokenizer
from prober.lab.usage import UsageStyle, reported

_CENSUS_LENGTH = 1_000
_THREAD_CHARACTERS = 100_000


class Cluster:
    """Tokenizer, roles and router. It belongs to one event loop: start, generate, stop."""

    def __init__(self, settings: LabSettings, store: CacheStore | None = None) -> None:
        """Take over what an earlier cluster of the same LLM has left in its `store`, or begin with an empty one."""
        self.settings = settings
        self.store = store or CacheStore(Tokenizer(settings.preamble))
        self.tokenizer = self.store.tokenizer
        self.counters = collections.Counter(dict.fromkeys(COUNTERS, 0))
        self.census = collections.deque[Census](maxlen=_CENSUS_LENGTH)
        """Whose pages answered the latest requests: truth for tests and records, never used to answer."""
        self._rooms = itertools.count(1)
        seams = seams_of(settings.faults, settings.fixes, Dice(settings.faults, settings.seed, self.counters))
        self._crew = Crew()
        honesty, background = settings.honesty, settings.background
        pace = Pace(settings.time_scale, honesty.timing_noise, settings.seed)
        self._queueing = Queueing(honesty, pace, settings.seed, self._crew, self.counters)
        self._is_aggregated = settings.topology is Topology.AGGREGATED
        llm = SimulatedLlm(self.tokenizer, honesty, self.counters, seed=settings.seed)
        answering = Answering(
            settings=settings,
            seams=seams,
            pool=KvPool(
                settings.prefill_pool_tokens if self._is_aggregated else settings.decode_pool_tokens,
                settings.page_tokens,
                need_sort=not self._is_aggregated,
            ),
            forward=ForwardPass(settings, pace, llm, self.counters),
            llm=llm,
            pace=pace,
            counters=self.counters,
        )
        rooms = Rooms(seams)
        self._prefill = PrefillRole(settings, seams, pace, answering.forward, rooms, self.counters)
        self._decode = DecodeRole(settings, seams, answering, rooms, self._crew, self.counters, self.census.append)
        self._router = Router(settings, seams, pace, self._crew, self._prefill, self._decode)
        cache = None
        if settings.prefix_cache:
            cache = PrefixCache(settings, seams, answering.pool, pace, self.store, self.counters)
        self._aggregated = AggregatedRole(settings, seams, answering, cache, self.counters, self.census.append)
        self._least_limit = min(self._role_limits.values())
        smallest = min(settings.context_tokens, *(pool.pages * settings.page_tokens for pool in self.pools.values()))
        typical = min(background.prompt_tokens, smallest // 8)
        self._customers = Customers(background.customers, typical, settings.seed).requests()

    async def start(self) -> None:
        """Warm the pools when they are not to be fresh, and let the customers in."""
        if not self.settings.is_fresh:
            await self.warm()
        if self.settings.background.customers:
            self._crew.start(self._keep_warm())

    async def stop(self) -> None:
        """End all work; every page is free afterwards, and what the prefix cache held is in the store."""
        await self._crew.stop()
        self._aggregated.close()

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Event, None]:
        """Stream one answer: chunks then Done, or a Rejection. Closing the generator is the client hanging up.

        Raises:
            LabError: the cluster was stopped meanwhile.
        """
        self.counters["requests"] += 1
        ids = await self._tokenize(request)
        context, max_tokens = self.settings.context_tokens, request.max_tokens
        if self.settings.auto_truncate:
            self.counters["prompts_truncated"] += len(ids) > self._least_limit
            ids = ids[:context]
            max_tokens = max(1, min(max_tokens, context - len(ids)))
        elif refusal := door_refusal(len(ids), max_tokens, context):
            self.counters["door_rejections"] += 1
            yield refusal
            return
        if request.late_error and self._is_aggregated:
            yield late_refusal(request.late_error)
            return
        job = Job(room=next(self._rooms), request=request, ids=ids, max_new_tokens=max_tokens)
        await self._queueing.wait(job.room)
        async with contextlib.aclosing(self._serve(job)) as events:
            async for event in events:
                yield self._reported(event) if isinstance(event, Done) else event

    def _reported(self, done: Done) -> Done:
        style = self.settings.honesty.usage_style
        if style is not UsageStyle.COUNTED:
            self.counters[f"usage_{style.value}"] += 1
        return reported(done, style)

    async def _serve(self, job: Job) -> AsyncGenerator[Event, None]:
        if not self._is_aggregated:
            async with contextlib.aclosing(self._router.generate(job)) as events:
                async for event in events:
                    yield event
            return
        pump = EventPump(self._crew, self._aggregated.run(job))
        try:
            while isinstance(event := await pump.next(), Chunk):
                yield event
            yield event
        finally:
            await pump.close()

    async def _tokenize(self, request: GenerateRequest) -> Ids:
        if sum(len(content) for _role, content in request.messages) < _THREAD_CHARACTERS:
            return self.tokenizer.encode_chat(request.messages)
        return await asyncio.to_thread(self.tokenizer.encode_chat, request.messages)

    @property
    def pools(self) -> dict[str, KvPool]:
        """The KV pools by role, as `/metrics` labels them: `unified`, or `prefill` and `decode`."""
        if self._is_aggregated:
            return {"unified": self._aggregated.pool}
        return {"prefill": self._prefill.pool, "decode": self._decode.pool}

    @property
    def _role_limits(self) -> dict[str, int]:
        """Tokens from which on a role refuses a prompt or cuts it."""
        if self._is_aggregated:
            return {"unified": self._aggregated.largest_input}
        return {"prefill": self._prefill.largest_input, "decode": self._decode.largest_input}

    def facts(self) -> dict[str, object]:
        """Plain facts for `/server_info` and `/metrics`: settings, pools by role, counters. No text and no key."""
        settings = self.settings
        limits = self._role_limits
        return {
            "model": settings.model,
            "version": settings.version,
            "context_tokens": settings.context_tokens,
            "page_tokens": settings.page_tokens,
            "chunked_prefill_tokens": settings.chunked_prefill_tokens,
            "topology": settings.topology.value,
            "router": settings.router.value,
            "auto_truncate": settings.auto_truncate,
            "faults": dict(settings.faults),
            "fixes": sorted(settings.fixes),
            "waiting_timeout_seconds": settings.waiting_timeout_seconds,
            "time_scale": settings.time_scale,
            "roles": {role: _pool_facts(pool, limits[role]) for role, pool in self.pools.items()},
            "counters": dict(self.counters),
        }

    async def warm(self) -> None:
        """Fill every pool with customers' text, in no virtual time: what a pool looks like in production."""
        pools = self.pools.values()
        written = 0
        while written < max(pool.pages for pool in pools) * self.settings.page_tokens:
            ids = await asyncio.to_thread(self._customer_ids)
            owner = next(self._rooms)
            for pool in pools:
                lease = await pool.reserve(len(ids))
                lease.take(len(ids))
                lease.write(0, ids, owner)
                lease.release()
            written += len(ids) // self.settings.page_tokens * self.settings.page_tokens

    def _customer_ids(self) -> Ids:
        return self.tokenizer.encode_chat(next(self._customers).messages)

    async def _keep_warm(self) -> None:
        while True:
            await asyncio.sleep(60 / self.settings.background.requests_per_minute)
            self.counters["background_requests"] += 1
            async for _event in self.generate(await asyncio.to_thread(next, self._customers)):
                pass


COUNTERS = (
    "requests",
    "background_requests",
    "door_rejections",
    "prefill_rejections",
    "decode_rejections",
    "bootstrap_failures",
    "waiting_timeouts",
    "transfer_failures",
    "early_releases",
    "deferred_releases_drained",
    "deferred_releases_timeout",
    "pages_changed_while_answering",
    "refusals",
    "shuffles",
    "recall_misses",
    "copy_errors",
    "paraphrases",
    "looping_answers",
    "overthinking",
    "batch_variations",
    "reasoned_answers",
    "prompts_truncated",
    "queue_waits",
    "slow_tails",
    "usage_null",
    "usage_handed_over",
    "usage_counted_twice",
    "row_moves",
    "retractions",
    "prefix_hits",
    "cached_tokens",
    "pages_evicted",
    "pages_loaded",
    "load_failures",
    "timings_quickened",
    "timings_slowed",
)
"""Every counter that `facts` reports, at 0 from the start."""


def _pool_facts(pool: KvPool, largest_input: int) -> dict[str, int]:
    return {
        "max_total_num_tokens": pool.pages * pool.page_tokens,
        "max_req_input_len": largest_input,
        "num_pages": pool.pages,
        "available_tokens": pool.available_tokens,
        "used_tokens": pool.used_tokens,
        "waiting_requests": pool.waiting,
    }
