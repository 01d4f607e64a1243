"""What prefill and decode share about one request: its room, the destination pages, metadata, and the transfer."""

import asyncio
import collections
import dataclasses
import zlib

import numpy as np

from prober.lab.allocator import Pages
from prober.lab.events import GenerateRequest
from prober.lab.pool import KvPool
from prober.lab.seams import Seams
from prober.lab.timing import ROUND_TRIP_SECONDS, Pace
from prober.lab.tokenizer import Ids

METADATA_SLOTS = 512
TRANSFER_WORKERS = 4
"""Of one prefill (SGLANG_DISAGGREGATION_THREAD_POOL_SIZE: 4 to 12, by the number of cores)."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One admitted request on its way through a role."""

    room: int
    """Unique number; owner mark of the pages it writes."""
    request: GenerateRequest
    ids: Ids = dataclasses.field(repr=False)
    max_new_tokens: int

    def within(self, pool_tokens: int, tokens: int) -> "Job":
        """Clamp the answer, silently, to what a pool can hold beside so many prompt tokens."""
        return dataclasses.replace(self, max_new_tokens=min(self.max_new_tokens, pool_tokens - tokens))


@dataclasses.dataclass(slots=True, kw_only=True)
class Metadata:
    """What the last chunk carries beside the pages."""

    room: int = 0
    first_id: int = 0
    checksum: int = 0
    """0: the prefill sent none, so nothing is compared."""


class MetadataBuffers:
    """Decode's slots for metadata, handed out first in, first out."""

    def __init__(self) -> None:
        self.slots = [Metadata() for _ in range(METADATA_SLOTS)]
        self._free: asyncio.Queue[int] = asyncio.Queue()
        for index in range(METADATA_SLOTS):
            self._free.put_nowait(index)

    async def take(self) -> int:
        """Wait for a slot, cleared."""
        index = await self._free.get()
        self.slots[index] = Metadata()
        return index

    def give_back(self, index: int) -> None:
        """Return a slot."""
        self._free.put_nowait(index)


class Handoff:
    """One room."""

    def __init__(self, room: int, pool: KvPool, metadata: MetadataBuffers) -> None:
        self.room = room
        self.pool = pool
        """Decode's pool, which the transfer writes into."""
        self.metadata = metadata
        self.destination: Pages = np.zeros(0, dtype=np.int32)
        self.slot = -1
        self.published = asyncio.Event()
        self.started = asyncio.Event()
        """Set with the first chunk that arrives."""
        self.settled = asyncio.Event()
        """All that the prefill means to send is with decode."""
        self.drained = asyncio.Event()
        """The prefill will not write any more."""
        self.has_left = False
        """Decode is gone, and nobody acknowledges what still arrives."""

    def publish(self, pages: Pages, slot: int) -> None:
        """Decode names its pages: from here on the prefill may write into them."""
        self.destination, self.slot = pages, slot
        self.published.set()


class Rooms:
    """Where prefill and decode meet: the destinations that decode has published, by room."""

    def __init__(self, seams: Seams) -> None:
        self._seams = seams
        self._published: dict[int, Handoff] = {}

    def key(self, room: int) -> int:
        """By what a room is known here, and in metadata."""
        return self._seams.room_key(room)

    def publish(self, handoff: Handoff, pages: Pages, slot: int) -> None:
        """Decode names its pages for a room."""
        handoff.publish(pages, slot)
        self._published[self.key(handoff.room)] = handoff

    def destination(self, room: int) -> Handoff | None:
        """Where a room's pages belong, whether decode is still there or not."""
        return self._published.get(self.key(room))

    def close(self, handoff: Handoff) -> None:
        """The prefill is done with the room."""
        if self.destination(handoff.room) is handoff:
            del self._published[self.key(handoff.room)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TransferChunk:
    """Pages to send: where they stand in the prompt, and where in the prefill's pool."""

    first_page: int
    pages: Pages
    tokens: int
    metadata: Metadata | None = None
    """With the last chunk only."""


class TransferLine:
    """All that the senders of one prefill share: the way to decode, and a few transfer workers."""

    def __init__(
        self,
        rooms: Rooms,
        source: KvPool,
        pace: Pace,
        seconds_per_token: float,
        seams: Seams,
        unacknowledged_seconds: float = 0.0,
    ) -> None:
        self.rooms = rooms
        self.unacknowledged_seconds = unacknowledged_seconds
        self.source = source
        self.pace = pace
        self.seconds_per_token = seconds_per_token
        self.seams = seams
        self.workers = asyncio.Semaphore(TRANSFER_WORKERS)


class Sender:
    """Sends one room's chunks in order, by a transfer worker, while the prefill computes on.

    Whether the room still stands is asked between chunks only; a chunk that was begun is written to its end.
    """

    def __init__(self, room: int, line: TransferLine) -> None:
        self._room = room
        self._line = line
        self._chunks: collections.deque[TransferChunk] = collections.deque()
        self._arrived = asyncio.Event()
        self._aborted = asyncio.Event()

    def send(self, chunk: TransferChunk) -> None:
        """Queue a chunk."""
        self._chunks.append(chunk)
        self._arrived.set()

    def abort(self) -> None:
        """Send no chunk that was not begun. Decode is not told."""
        self._aborted.set()
        self._arrived.set()

    async def run(self) -> None:
        """Work until the last chunk or an abort."""
        await self._arrived.wait()
        if not await self._gets_worker():
            return
        has_begun = False
        try:
            while not self._aborted.is_set():
                await self._arrived.wait()
                if not self._chunks:
                    self._arrived.clear()
                    continue
                has_begun = True
                if await self._sent(self._chunks.popleft()):
                    return
        finally:
            if not (has_begun and self._aborted.is_set()) or self._line.seams.gives_worker_back(self._room):
                self._line.workers.release()

    async def _gets_worker(self) -> bool:
        """Wait for a worker; False when the room was aborted before one was free."""
        getting = asyncio.ensure_future(self._line.workers.acquire())
        aborted = asyncio.ensure_future(self._aborted.wait())
        try:
            await asyncio.wait({getting, aborted}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            aborted.cancel()
            if not getting.done():
                getting.cancel()
        return getting.done() and not getting.cancelled()

    async def _sent(self, chunk: TransferChunk) -> bool:
        """Move one chunk over the wire; True when it was the last."""
        line = self._line
        await line.pace.sleep(ROUND_TRIP_SECONDS + chunk.tokens * line.seconds_per_token)
        handoff = line.rooms.destination(self._room)
        if handoff is not None and handoff.has_left:
            await line.pace.sleep(line.unacknowledged_seconds)
        if handoff is not None:
            _write(handoff, line.source, chunk)
            if chunk.metadata:
                handoff.metadata.slots[handoff.slot] = chunk.metadata
                handoff.settled.set()
        return chunk.metadata is not None


def _write(handoff: Handoff, source: KvPool, chunk: TransferChunk) -> None:
    destination = handoff.destination[chunk.first_page : chunk.first_page + len(chunk.pages)]
    # Fewer destination than source pages: cut. More destination pages than the prefill ever sends: nobody notices.
    pages = chunk.pages[: len(destination)]
    handoff.pool.write_pages(destination, source.read_pages(pages), source.owners[pages])
    handoff.started.set()


def digest(pool: KvPool, pages: Pages) -> int:
    """Adler-32 of whole pages in page-table order, as `disaggregation/checksum.py` (PR #39500); never 0."""
    return zlib.adler32(pool.read_pages(pages).tobytes()) or 1
