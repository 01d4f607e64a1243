"""The decode role: reserves pages for the whole prompt, waits for the prefill to fill them, and answers from them."""

import asyncio
import collections
from collections.abc import AsyncIterator, Callable

from prober.lab.answering import Answering
from prober.lab.census import Census
from prober.lab.crew import Crew
from prober.lab.events import Event, Rejection
from prober.lab.fixes import Fix
from prober.lab.handoff import Handoff, Job, MetadataBuffers, Rooms, digest
from prober.lab.limits import (
    checksum_mismatch,
    largest_input,
    length_refusal,
    metadata_mismatch,
    waiting_timeout,
)
from prober.lab.pool import Lease
from prober.lab.prefill import STUB_IDS
from prober.lab.seams import Seams
from prober.lab.settings import LabSettings

_REPAIRED = frozenset({Fix.RETIRE_AFTER_FORWARD, Fix.REJECT_AT_DOOR})


class DecodeRole:
    """One decode instance."""

    def __init__(
        self,
        settings: LabSettings,
        seams: Seams,
        answering: Answering,
        rooms: Rooms,
        crew: Crew,
        counters: collections.Counter[str],
        on_census: Callable[[Census], None],
    ) -> None:
        self._settings = settings
        self._seams = seams
        self._rooms = rooms
        self._crew = crew
        self._pace = answering.pace
        self._answering = answering
        self._counters = counters
        self._on_census = on_census
        self.pool = answering.pool
        self.metadata = MetadataBuffers()
        self.largest_input = largest_input(settings.context_tokens, settings.decode_pool_tokens)

    async def run(self, job: Job, handoff: Handoff) -> AsyncIterator[Event]:
        """Serve one room; closing the iterator is how an abort arrives."""
        ids, refusal = job.ids, None
        if len(ids) >= self.largest_input:
            if self._settings.auto_truncate:
                ids = ids[: self.largest_input]
            else:
                refusal = length_refusal(len(ids), self.largest_input)
                self._counters["decode_rejections"] += 1
                if self._settings.fixes & _REPAIRED or not self._seams.admits_refused(job.room):
                    yield refusal
                    return
                ids = STUB_IDS
        tokens = len(ids)
        job = job.within(self._settings.decode_pool_tokens, tokens)
        lease = await self.pool.reserve(self._answering.room_needed(tokens, job))
        slot = None
        try:
            slot = await self.metadata.take()
            # Pages for the whole prompt, before the prefill has run; nobody clears what they hold.
            lease.take(tokens)
            self._rooms.publish(handoff, lease.pages, slot)
            async for event in self._await_and_answer(job, refusal, tokens, lease, handoff):
                yield event
        finally:
            self._release(lease, slot, handoff)

    async def _await_and_answer(
        self, job: Job, refusal: Rejection | None, tokens: int, lease: Lease, handoff: Handoff
    ) -> AsyncIterator[Event]:
        failure = await self._await_pages(lease, handoff) or refusal
        if failure:
            self._counters["transfer_failures"] += failure is not refusal
            yield failure
            return
        request = job.request
        self._on_census(Census.of(request.request_id, request.tenant, job.room, self.pool, handoff.destination))
        first_id = self.metadata.slots[handoff.slot].first_id
        async for event in self._answering.run(job, lease, tokens, first_id):
            yield event

    async def _await_pages(self, lease: Lease, handoff: Handoff) -> Rejection | None:
        """Wait for the transfer, then check what came with it. How many pages came is not asked (PR #38704, open)."""
        try:
            async with asyncio.timeout(self._pace.real(self._settings.waiting_timeout_seconds)):
                await handoff.started.wait()
        except TimeoutError:
            self._counters["waiting_timeouts"] += 1
            return waiting_timeout(handoff.room, self._settings.waiting_timeout_seconds)
        await handoff.settled.wait()
        metadata = self.metadata.slots[handoff.slot]
        if metadata.room != self._rooms.key(handoff.room):
            return metadata_mismatch(handoff.room, metadata.room)
        if metadata.checksum and digest(self.pool, lease.pages) != metadata.checksum:
            return checksum_mismatch(handoff.room)
        return None

    def _release(self, lease: Lease, slot: int | None, handoff: Handoff) -> None:
        handoff.has_left = True
        is_done = handoff.settled.is_set() or handoff.drained.is_set() or not handoff.published.is_set()
        if is_done or (
            Fix.DEFERRED_RELEASE not in self._settings.fixes and self._seams.releases_before_drained(handoff.room)
        ):
            self._counters["early_releases"] += not is_done
            self._free(lease, slot)
            return
        self._crew.start(self._release_when_drained(lease, slot, handoff))

    async def _release_when_drained(self, lease: Lease, slot: int | None, handoff: Handoff) -> None:
        try:
            if Fix.DEFERRED_RELEASE in self._settings.fixes:
                async with asyncio.timeout(self._pace.real(self._settings.release_timeout_seconds)):
                    await handoff.drained.wait()
            else:
                await handoff.drained.wait()
            self._counters["deferred_releases_drained"] += 1
        except TimeoutError:
            # Released although the prefill may still write: upstream's choice, and why the outcome is counted.
            self._counters["deferred_releases_timeout"] += 1
        finally:
            self._free(lease, slot)

    def _free(self, lease: Lease, slot: int | None) -> None:
        lease.release()
        if slot is not None:
            self.metadata.give_back(slot)
