"""The prefill role: computes a prompt's pages and sends them to decode."""

import asyncio
import collections

import numpy as np

from prober.lab.events import Rejection
from prober.lab.faults import Fault, Fix
from prober.lab.forward import ForwardPass
from prober.lab.handoff import Handoff, Job, Metadata, Sender, TransferChunk, digest
from prober.lab.limits import largest_input, length_refusal, server_error
from prober.lab.pool import STUB, KvPool, Lease
from prober.lab.settings import LabSettings
from prober.lab.timing import ROUND_TRIP_SECONDS, Pace
from prober.lab.tokenizer import PADDING, Ids

STUB_IDS: Ids = np.array([PADDING], dtype=np.int32)
"""What a refused prompt is replaced by (managers/schedule_batch.py `set_finish_with_abort`: origin_input_ids = [0])."""


class PrefillRole:
    """One prefill instance."""

    def __init__(
        self, settings: LabSettings, pace: Pace, forward: ForwardPass, counters: collections.Counter[str]
    ) -> None:
        self._settings = settings
        self._pace = pace
        self._forward = forward
        self._counters = counters
        self.pool = KvPool(settings.prefill_pool_tokens, settings.page_tokens, need_sort=True)
        self.largest_input = largest_input(settings.context_tokens, settings.prefill_pool_tokens)

    async def run(self, job: Job, handoff: Handoff) -> Rejection | None:
        """Serve one room: the refusal, or None once all pages are with decode. Cancelling is how an abort arrives."""
        try:
            return await self._serve(job, handoff)
        finally:
            handoff.drained.set()

    async def _serve(self, job: Job, handoff: Handoff) -> Rejection | None:
        ids, refusal = job.ids, None
        if len(ids) >= self.largest_input:
            if self._settings.auto_truncate:
                ids = ids[: self.largest_input]
            else:
                refusal = length_refusal(len(ids), self.largest_input)
                self._counters["prefill_rejections"] += 1
                if Fault.STUB_HANDOFF not in self._settings.faults or Fix.REJECT_AT_DOOR in self._settings.fixes:
                    await self._pace.sleep(ROUND_TRIP_SECONDS)
                    return refusal
                # From here on the queues ask "finished?" and not "rejected?", and the stub passes every check.
                ids = STUB_IDS
        try:
            timeout = self._pace.real(self._settings.waiting_timeout_seconds)
            await asyncio.wait_for(handoff.published.wait(), timeout)
        except TimeoutError:
            self._counters["bootstrap_failures"] += 1
            return refusal or server_error(f"Prefill bootstrap failed for request {handoff.room}")
        return await self._prefill(job, ids, refusal, handoff)

    async def _prefill(self, job: Job, ids: Ids, refusal: Rejection | None, handoff: Handoff) -> Rejection | None:
        lease = await self.pool.reserve(len(ids))
        sender = Sender(handoff, self.pool, self._pace, self._settings.link_seconds_per_token)
        sending = asyncio.create_task(sender.run())
        try:
            await self._pace.sleep(ROUND_TRIP_SECONDS)
            owner = STUB if refusal else job.room
            await self._forward.run(ids, lease, owner, lambda start, end: sender.send(self._chunk(lease, start, end)))
            if refusal and Fix.RETIRE_AFTER_FORWARD in self._settings.fixes:
                return refusal
            plan = await self._forward.plan(job, lease, len(ids))
            metadata = Metadata(room=handoff.room, first_id=int(plan.ids[0]), checksum=self._checksum(lease))
            last = (len(ids) - 1) // self._settings.chunked_prefill_tokens * self._settings.chunked_prefill_tokens
            sender.send(self._chunk(lease, last, len(ids), metadata))
            await asyncio.shield(sending)
        finally:
            sender.abort()
            try:
                await _outlast(sending)
            finally:
                lease.release()
        return None

    def _chunk(self, lease: Lease, start: int, end: int, metadata: Metadata | None = None) -> TransferChunk:
        first, last = start // self._settings.page_tokens, self.pool.pages_for(end)
        return TransferChunk(first_page=first, pages=lease.pages[first:last], tokens=end - start, metadata=metadata)

    def _checksum(self, lease: Lease) -> int:
        return digest(self.pool, lease.pages) if Fix.TRANSFER_CHECKSUM in self._settings.fixes else 0


async def _outlast(sending: asyncio.Task[None]) -> None:
    """Wait for a write that was begun: it cannot be recalled, not even by a second cancellation."""
    is_cancelled = False
    while not sending.done():
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError
