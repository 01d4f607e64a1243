"""The aggregated role: one pool, prefill and decode in one place."""

import collections
import dataclasses
from collections.abc import AsyncIterator, Callable

from prober.lab.answering import Answering
from prober.lab.cache.loading import LoadError
from prober.lab.cache.prefix import Prefix
from prober.lab.cache.prefix_cache import PrefixCache
from prober.lab.census import Census
from prober.lab.events import Done, Event
from prober.lab.handoff import Job
from prober.lab.limits import largest_input, length_refusal, server_error
from prober.lab.pool import STUB, Lease
from prober.lab.prefill import STUB_IDS
from prober.lab.seams import Seams
from prober.lab.settings import LabSettings
from prober.lab.tokenizer import Ids


class AggregatedRole:
    """One instance that does everything; a refused prompt can not leak here, as one scheduler ends it."""

    def __init__(
        self,
        settings: LabSettings,
        seams: Seams,
        answering: Answering,
        cache: PrefixCache | None,
        counters: collections.Counter[str],
        on_census: Callable[[Census], None],
    ) -> None:
        self._settings = settings
        self._seams = seams
        self._answering = answering
        self._forward = answering.forward
        self._cache = cache
        self._counters = counters
        self._on_census = on_census
        self.pool = answering.pool
        self.largest_input = largest_input(settings.context_tokens, settings.prefill_pool_tokens)

    async def run(self, job: Job) -> AsyncIterator[Event]:
        """Serve one request; closing the iterator is how an abort arrives."""
        ids, refusal = job.ids, None
        if len(ids) >= self.largest_input:
            if self._settings.auto_truncate:
                ids = ids[: self.largest_input]
            else:
                refusal = length_refusal(len(ids), self.largest_input)
                self._counters["prefill_rejections"] += 1
                ids = STUB_IDS
        if refusal and not self._seams.admits_refused(job.room):
            yield refusal
            return
        tokens = len(ids)
        job = job.within(self._settings.prefill_pool_tokens, tokens)
        prefix = None if refusal or self._cache is None else self._cache.prefix(job, ids)
        lease = await self.pool.reserve(self._answering.room_needed(tokens, job), prefix)
        is_computed = False
        try:
            await self._compute(ids, lease, STUB if refusal else job.room, prefix)
            if refusal:
                yield refusal
                return
            is_computed = True
            shared = len(prefix.nodes) if prefix else 0
            request = job.request
            self._on_census(Census.of(request.request_id, request.tenant, job.room, self.pool, lease.pages, shared))
            async for event in self._answering.run(job, lease, tokens, None):
                yield event if prefix is None or not isinstance(event, Done) else _with_usage(event, prefix)
        except LoadError as error:
            yield server_error(str(error))
        finally:
            if prefix and self._cache:
                self._cache.keep(prefix, lease, is_computed=is_computed)
            lease.release()

    async def _compute(self, ids: Ids, lease: Lease, owner: int, prefix: Prefix | None) -> None:
        """Fill the pages of a prompt: from the cache as far as it goes, the rest by a forward pass."""
        if prefix is None or self._cache is None:
            await self._forward.run(ids, lease, owner)
            return
        cache, start = self._cache, await self._cache.restore(prefix, lease)
        await self._forward.run(
            ids, lease, owner, start=start, on_taken=lambda start, end: cache.on_taken(prefix, lease, start, end)
        )

    def close(self) -> None:
        """End with the cluster."""
        if self._cache:
            self._cache.close()


def _with_usage(done: Done, prefix: Prefix) -> Done:
    return dataclasses.replace(done, cached_tokens=prefix.cached_tokens)
