"""What prefill and decode share about one request: its room, the destination pages, metadata, and the transfer."""

import asyncio
import collections
import dataclasses
import zlib

import numpy as np

from prober.lab.allocator import Pages
from prober.lab.events import GenerateRequest
from prober.lab.pool import KvPool
from prober.lab.timing import ROUND_TRIP_SECONDS, Pace
from prober.lab.tokenizer import Ids

METADATA_SLOTS = 512


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

    def publish(self, pages: Pages, slot: int) -> None:
        """Decode names its pages: from here on the prefill may write into them."""
        self.destination, self.slot = pages, slot
        self.published.set()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TransferChunk:
    """Pages to send: where they stand in the prompt, and where in the prefill's pool."""

    first_page: int
    pages: Pages
    tokens: int
    metadata: Metadata | None = None
    """With the last chunk only."""


class Sender:
    """The prefill's transfer worker for one room: sends chunks in order while the prefill computes on.

    Whether the room still stands is asked between chunks only; a chunk that was begun is written to its end.
    """

    def __init__(self, handoff: Handoff, source: KvPool, pace: Pace, seconds_per_token: float) -> None:
        self._handoff = handoff
        self._source = source
        self._pace = pace
        self._seconds_per_token = seconds_per_token
        self._chunks: collections.deque[TransferChunk | None] = collections.deque()
        self._arrived = asyncio.Event()
        self._is_aborted = False

    def send(self, chunk: TransferChunk) -> None:
        """Queue a chunk."""
        self._chunks.append(chunk)
        self._arrived.set()

    def abort(self) -> None:
        """Send no chunk that was not begun. Decode is not told."""
        self._is_aborted = True
        self._chunks.append(None)
        self._arrived.set()

    async def run(self) -> None:
        """Work until the last chunk or an abort."""
        while True:
            await self._arrived.wait()
            if not self._chunks:
                self._arrived.clear()
                continue
            chunk = self._chunks.popleft()
            if self._is_aborted or chunk is None:
                return
            await self._pace.sleep(ROUND_TRIP_SECONDS + chunk.tokens * self._seconds_per_token)
            self._write(chunk)
            if chunk.metadata:
                self._handoff.metadata.slots[self._handoff.slot] = chunk.metadata
                self._handoff.settled.set()
                return

    def _write(self, chunk: TransferChunk) -> None:
        handoff = self._handoff
        destination = handoff.destination[chunk.first_page : chunk.first_page + len(chunk.pages)]
        # Fewer destination than source pages: cut. More destination pages than the prefill ever sends: nobody notices.
        source = chunk.pages[: len(destination)]
        handoff.pool.write_pages(destination, self._source.read_pages(source), self._source.owners[source])
        handoff.started.set()


def digest(pool: KvPool, pages: Pages) -> int:
    """Adler-32 of whole pages in page-table order, as `disaggregation/checksum.py` (PR #39500); never 0."""
    return zlib.adler32(pool.read_pages(pages).tobytes()) or 1
