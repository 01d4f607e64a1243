"""The prefill computation that the prefill role and the aggregated role share."""

import asyncio
import collections
from collections.abc import Callable

from prober.lab.handoff import Job
from prober.lab.llm import Plan, SimulatedLlm
from prober.lab.pool import Lease
from prober.lab.settings import LabSettings
from prober.lab.timing import QUICK_RATIO, SLOW_RATIO, Pace, prefill_seconds
from prober.lab.tokenizer import Ids

_THREAD_TOKENS = 20_000
"""From here on the LLM thinks in a thread, so that the event loop stays responsive."""


class ForwardPass:
    """Prefills in chunks over virtual time: one long prompt at a time, short ones ride along."""

    def __init__(
        self, settings: LabSettings, pace: Pace, llm: SimulatedLlm, counters: collections.Counter[str]
    ) -> None:
        self._chunk_tokens = settings.chunked_prefill_tokens
        self._pace = pace
        self._llm = llm
        self._counters = counters
        self._long = asyncio.Lock()

    async def run(
        self, ids: Ids, lease: Lease, owner: int, on_chunk: Callable[[int, int], None] = lambda _start, _end: None
    ) -> None:
        """Write the ids into newly taken pages; `on_chunk(start, end)` reports each chunk but the last."""
        if len(ids) <= self._chunk_tokens:
            await self._compute(ids, lease, owner, on_chunk)
            return
        async with self._long:
            await self._compute(ids, lease, owner, on_chunk)

    async def _compute(self, ids: Ids, lease: Lease, owner: int, on_chunk: Callable[[int, int], None]) -> None:
        begun = asyncio.get_running_loop().time()
        ratio = self._pace.draw_ratio()
        self._counters["timings_quickened"] += ratio < QUICK_RATIO
        self._counters["timings_slowed"] += ratio > SLOW_RATIO
        for start in range(0, len(ids), self._chunk_tokens):
            end = min(start + self._chunk_tokens, len(ids))
            lease.take(end - start)
            await self._pace.sleep_until(begun, ratio * prefill_seconds(end))
            lease.write(start, ids[start:end], owner)
            if end < len(ids):
                on_chunk(start, end)

    async def plan(self, job: Job, lease: Lease, tokens: int) -> Plan:
        """Read the pages that the page table names, and decide the answer."""
        view = lease.read(tokens)
        if tokens < _THREAD_TOKENS:
            return self._llm.plan(view, job.request.temperature, job.room)
        return await asyncio.to_thread(self._llm.plan, view, job.request.temperature, job.room)
