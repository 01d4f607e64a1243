"""The prefill computation that the prefill role and the aggregated role share."""

import asyncio
import collections
import contextlib
from collections.abc import Callable

from prober.lab.handoff import Job
from prober.lab.llm import Plan, SimulatedLlm
from prober.lab.pool import Lease
from prober.lab.settings import LabSettings
from prober.lab.timing import PREFILL_BASE_SECONDS, QUICK_RATIO, SLOW_RATIO, Pace, prefill_seconds
from prober.lab.tokenizer import Ids

OnChunk = Callable[[int, int], None]
"""Told the first token of a chunk and the one after its last."""

_THREAD_TOKENS = 20_000
"""From here on the LLM thinks in a thread, so that the event loop stays responsive."""


class ForwardPass:
    """Prefills in chunks over virtual time: one long prompt at a time, short ones ride along."""

    def __init__(
        self, settings: LabSettings, pace: Pace, llm: SimulatedLlm, counters: collections.Counter[str]
    ) -> None:
        self._chunk_tokens = settings.chunked_prefill_tokens
        self._page_tokens = settings.page_tokens
        self._pace = pace
        self._llm = llm
        self._counters = counters
        self._long = asyncio.Lock()
        self.in_flight = 0
        """Prompt tokens of the chunks that are being computed."""

    async def run(
        self,
        ids: Ids,
        lease: Lease,
        owner: int,
        on_chunk: OnChunk = lambda _start, _end: None,
        *,
        start: int = 0,
        on_taken: OnChunk = lambda _start, _end: None,
    ) -> None:
        """Write the ids, from a position on, into newly taken pages.

        What stands before `start` came from a cache and costs no time. `on_taken(start, end)` is called when a chunk's
        pages are taken and not yet written, `on_chunk(start, end)` when they are, for each chunk but the last.
        """
        is_long = len(ids) - start > self._chunk_tokens
        async with self._long if is_long else contextlib.nullcontext():
            await self._compute(ids, lease, owner, start, on_taken, on_chunk)

    async def _compute(
        self, ids: Ids, lease: Lease, owner: int, first: int, on_taken: OnChunk, on_chunk: OnChunk
    ) -> None:
        begun = asyncio.get_running_loop().time()
        ratio = self._pace.draw_ratio()
        self._counters["timings_quickened"] += ratio < QUICK_RATIO
        self._counters["timings_slowed"] += ratio > SLOW_RATIO
        saved = prefill_seconds(first) - PREFILL_BASE_SECONDS
        # Chunks end at multiples of their size wherever they start, so that all but the last end on a page's edge.
        for edge in range(first - first % self._chunk_tokens, len(ids), self._chunk_tokens):
            start, end = max(edge, first), min(edge + self._chunk_tokens, len(ids))
            uncovered = end - len(lease.pages) * self._page_tokens
            if uncovered > 0:
                lease.take(uncovered)
            on_taken(start, end)
            await self._spend(end - start, begun, ratio * (prefill_seconds(end) - saved))
            lease.write(start, ids[start:end], owner)
            if end < len(ids):
                on_chunk(start, end)

    async def _spend(self, tokens: int, begun: float, seconds: float) -> None:
        """Wait until so long after the beginning, with a chunk of so many tokens in flight."""
        self.in_flight += tokens
        try:
            await self._pace.sleep_until(begun, seconds)
        finally:
            self.in_flight -= tokens

    async def plan(self, job: Job, lease: Lease, tokens: int) -> Plan:
        """Read the pages that the page table names, and decide the answer."""
        view = lease.read(tokens)
        if tokens < _THREAD_TOKENS:
            return self._llm.plan(view, job.request.temperature, job.room)
        return await asyncio.to_thread(self._llm.plan, view, job.request.temperature, job.room)
