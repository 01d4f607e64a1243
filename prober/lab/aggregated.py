"""The aggregated role: one pool, prefill and decode in one place."""

import collections
from collections.abc import AsyncIterator, Callable

from prober.lab.answering import Answering
from prober.lab.census import Census
from prober.lab.events import Event
from prober.lab.faults import Fault
from prober.lab.handoff import Job
from prober.lab.limits import largest_input, length_refusal
from prober.lab.pool import STUB
from prober.lab.prefill import STUB_IDS
from prober.lab.settings import LabSettings


class AggregatedRole:
    """One instance that does everything; a refused prompt can not leak here, as one scheduler ends it."""

    def __init__(
        self,
        settings: LabSettings,
        answering: Answering,
        counters: collections.Counter[str],
        on_census: Callable[[Census], None],
    ) -> None:
        self._settings = settings
        self._answering = answering
        self._forward = answering.forward
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
        if refusal and Fault.STUB_HANDOFF not in self._settings.faults:
            yield refusal
            return
        tokens = len(ids)
        job = job.within(self._settings.prefill_pool_tokens, tokens)
        lease = await self.pool.reserve(tokens + job.max_new_tokens)
        try:
            await self._forward.run(ids, lease, STUB if refusal else job.room)
            if refusal:
                yield refusal
                return
            request = job.request
            self._on_census(Census.of(request.request_id, request.tenant, job.room, self.pool, lease.pages))
            async for event in self._answering.run(job, lease, tokens, None):
                yield event
        finally:
            lease.release()
