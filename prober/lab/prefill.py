"""The prefill role: computes a prompt's pages and sends them to decode."""

import asyncio
import collections

import numpy as np

from prober.lab.events import Rejection
from prober.lab.fixes import Fix
from prober.lab.forward import ForwardPass
from prober.lab.handoff import Handoff, Job, Metadata, Rooms, Sender, TransferChunk, TransferLine, digest
from prober.lab.limits import largest_input, late_refusal, length_refusal, server_error
from prober.lab.pool import STUB, KvPool, Lease
from prober.lab.seams import Seams
from prober.lab.settings import LabSettings
from prober.lab.timing import ROUND_TRIP_SECONDS, Pace
from prober.lab.tokenizer import PADDING, Ids

STUB_IDS: Ids = np.array([PADDING], dtype=np.int32)
"""What a refused prompt is replaced by (managers/schedule_batch.py `set_finish_with_abort`: origin_input_ids = [0])."""


class PrefillRole:
    """One prefill instance."""

    def __init__(
        self,
        settings: LabSettings,
        seams: Seams,
        pace: Pace,
        forward: ForwardPass,
        rooms: Rooms,
        counters: collections.Counter[str],
    ) -> None:
        self._settings = settings
        self._seams = seams
        self._pace = pace
        self._forward = forward
        self._counters = counters
        self.pool = KvPool(settings.prefill_pool_tokens, settings.page_tokens, need_sort=True)
        self.largest_input = largest_input(settings.context_tokens, settings.prefill_pool_tokens)
        self._rooms = rooms
        self._line = TransferLine(
            rooms, self.pool, pace, settings.link_seconds_per_token, seams, settings.unacknowledged_seconds
        )

    async def run(self, job: Job, handoff: Handoff) -> Rejection | None:
        """Serve one room: the refusal, or None once all pages are with decode. Cancelling is how an abort arrives."""
        try:
            return await self._serve(job, handoff)
        finally:
            self._rooms.close(handoff)
            handoff.drained.set()

    async def _serve(self, job: Job, handoff: Handoff) -> Rejection | None:
        ids, refusal = self._checked(job)
        if refusal:
            self._counters["prefill_rejections"] += 1
            if not self._is_admitted(job):
                await self._pace.sleep(ROUND_TRIP_SECONDS)
                return refusal
            # From here on the queues ask "finished?" and not "rejected?", and the stub passes every check.
            ids = STUB_IDS
        try:
            async with asyncio.timeout(self._pace.real(self._settings.waiting_timeout_seconds)):
                await handoff.published.wait()
        except TimeoutError:
            self._counters["bootstrap_failures"] += 1
            return refusal or server_error(f"Prefill bootstrap failed for request {handoff.room}")
        return await self._prefill(job, ids, refusal)

    def _checked(self, job: Job) -> tuple[Ids, Rejection | None]:
        """The ids to compute, cut where that was promised; or why they are refused."""
        if job.request.late_error:
            return job.ids, late_refusal(job.request.late_error)
        if len(job.ids) < self.largest_input:
            return job.ids, None
        if self._settings.auto_truncate:
            return job.ids[: self.largest_input], None
        return job.ids, length_refusal(len(job.ids), self.largest_input)

    def _is_admitted(self, job: Job) -> bool:
        """Whether the queues take a refused request all the same."""
        if Fix.REJECT_AT_DOOR in self._settings.fixes:
            return False
        seams = self._seams
        return seams.admits_invalid(job.room) if job.request.late_error else seams.admits_refused(job.room)

    async def _prefill(self, job: Job, ids: Ids, refusal: Rejection | None) -> Rejection | None:
        lease = await self.pool.reserve(len(ids))
        sender = Sender(job.room, self._line)
        sending = asyncio.create_task(sender.run())
        try:
            await self._pace.sleep(ROUND_TRIP_SECONDS)
            owner = STUB if refusal else job.room
            await self._forward.run(ids, lease, owner, lambda start, end: sender.send(self._chunk(lease, start, end)))
            if refusal and Fix.RETIRE_AFTER_FORWARD in self._settings.fixes:
                return refusal
            plan = await self._forward.plan(job, lease, len(ids))
            room = self._rooms.key(job.room)
            metadata = Metadata(room=room, first_id=int(plan.ids[0]), checksum=self._checksum(lease))
            last = (len(ids) - 1) // self._settings.chunked_prefill_tokens * self._settings.chunked_prefill_tokens
            sender.send(self._chunk(lease, last, len(ids), metadata))
            if not self._seams.holds_until_pulled(job.room):
                lease.release()
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
