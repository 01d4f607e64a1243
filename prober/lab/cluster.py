"""The lab's inference cluster: everything behind the HTTP surface."""

import asyncio
import collections
import contextlib
import itertools
from collections.abc import AsyncGenerator

from prober.lab.aggregated import AggregatedRole
from prober.lab.answering import Answering
from prober.lab.census import Census
from prober.lab.crew import Crew
from prober.lab.customers import Customers
from prober.lab.decode import DecodeRole
from prober.lab.events import Chunk, Event, GenerateRequest
from prober.lab.forward import ForwardPass
from prober.lab.handoff import Job
from prober.lab.limits import door_refusal
from prober.lab.llm import SimulatedLlm
from prober.lab.pool import KvPool
from prober.lab.prefill import PrefillRole
from prober.lab.router import EventPump, Router
from prober.lab.settings import LabSettings, Topology
from prober.lab.timing import Pace
from prober.lab.tokenizer import Ids, Tokenizer

_CENSUS_LENGTH = 1_000
_THREAD_CHARACTERS = 100_000


class Cluster:
    """Tokenizer, roles and router. It belongs to one event loop: start, generate, stop."""

    def __init__(self, settings: LabSettings) -> None:
        self.settings = settings
        self.tokenizer = Tokenizer()
        self.counters = collections.Counter(dict.fromkeys(COUNTERS, 0))
        self.census = collections.deque[Census](maxlen=_CENSUS_LENGTH)
        """Whose pages answered the latest requests: truth for tests and records, never used to answer."""
        self._rooms = itertools.count(1)
        self._crew = Crew()
        honesty, background = settings.honesty, settings.background
        pace = Pace(settings.time_scale, honesty.timing_noise, settings.seed)
        self._is_aggregated = settings.topology is Topology.AGGREGATED
        answering = Answering(
            pool=KvPool(
                settings.prefill_pool_tokens if self._is_aggregated else settings.decode_pool_tokens,
                settings.page_tokens,
                need_sort=not self._is_aggregated,
            ),
            forward=ForwardPass(settings, pace, SimulatedLlm(self.tokenizer, honesty, self.counters), self.counters),
            tokenizer=self.tokenizer,
            pace=pace,
            counters=self.counters,
        )
        self._prefill = PrefillRole(settings, pace, answering.forward, self.counters)
        self._decode = DecodeRole(settings, answering, self._crew, self.counters, self.census.append)
        self._router = Router(settings, pace, self._crew, self._prefill, self._decode)
        self._aggregated = AggregatedRole(settings, answering, self.counters, self.census.append)
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
        """End all work; every page is free afterwards."""
        await self._crew.stop()

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Event, None]:
        """Stream one answer: chunks then Done, or a Rejection. Closing the generator is the client hanging up.

        Raises:
            LabError: the cluster was stopped meanwhile.
        """
        self.counters["requests"] += 1
        ids = await self._tokenize(request)
        context, max_tokens = self.settings.context_tokens, request.max_tokens
        if self.settings.auto_truncate:
            ids = ids[:context]
            max_tokens = max(1, min(max_tokens, context - len(ids)))
        elif refusal := door_refusal(len(ids), max_tokens, context):
            self.counters["door_rejections"] += 1
            yield refusal
            return
        job = Job(room=next(self._rooms), request=request, ids=ids, max_new_tokens=max_tokens)
        async with contextlib.aclosing(self._serve(job)) as events:
            async for event in events:
                yield event

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

    def facts(self) -> dict[str, object]:
        """Plain facts for `/server_info` and `/metrics`: settings, pools by role, counters. No text and no key."""
        settings = self.settings
        limits = {
            "unified": self._aggregated.largest_input,
            "prefill": self._prefill.largest_input,
            "decode": self._decode.largest_input,
        }
        return {
            "model": settings.model,
            "version": settings.version,
            "context_tokens": settings.context_tokens,
            "page_tokens": settings.page_tokens,
            "chunked_prefill_tokens": settings.chunked_prefill_tokens,
            "topology": settings.topology.value,
            "router": settings.router.value,
            "auto_truncate": settings.auto_truncate,
            "faults": sorted(fault.value for fault in settings.faults),
            "fixes": sorted(fix.value for fix in settings.fixes),
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
