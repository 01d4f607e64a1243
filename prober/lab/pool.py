"""KV memory of one role: pages of token ids, zero once at the start and never cleared."""

import asyncio
import collections

import numpy as np
import numpy.typing as npt

from prober.domain.errors import LabError
from prober.lab.allocator import PagedAllocator, Pages
from prober.lab.tokenizer import Ids

NOBODY = 0
STUB = -1
"""Owner mark of pages that a stub's forward pass wrote."""


class KvPool:
    """Pages, who wrote them last, and a first-come queue for room.

    `owners` is the truth for tests and records; nothing that answers a request reads it.
    """

    def __init__(self, tokens: int, page_tokens: int, *, need_sort: bool) -> None:
        self.page_tokens = page_tokens
        self.pages = tokens // page_tokens
        self._allocator = PagedAllocator(self.pages, page_tokens, need_sort=need_sort)
        self._memory = np.zeros((self.pages + 1, page_tokens), dtype=np.int32)
        self.owners = np.full(self.pages + 1, NOBODY, dtype=np.int64)
        self._stamps = np.zeros(self.pages + 1, dtype=np.int64)
        self.writes = 0
        """Number of the latest write."""
        self._reserved = 0
        self._waiting: collections.deque[tuple[int, asyncio.Future[None]]] = collections.deque()

    @property
    def available_tokens(self) -> int:
        """Tokens neither held nor promised."""
        return (self._allocator.available - self._reserved) * self.page_tokens

    @property
    def used_tokens(self) -> int:
        """Tokens in pages that are held."""
        return (self.pages - self._allocator.available) * self.page_tokens

    @property
    def waiting(self) -> int:
        """Requests that wait for room."""
        return len(self._waiting)

    def pages_for(self, tokens: int) -> int:
        """Whole pages that hold so many tokens."""
        return -(-tokens // self.page_tokens)

    async def reserve(self, tokens: int) -> "Lease":
        """Wait, first come first served, until so many tokens fit; whoever does not fit holds up all behind it.

        Raises:
            LabError: they can never fit.
        """
        pages = self.pages_for(tokens)
        if pages > self.pages:
            message = f"{tokens} tokens can never fit a pool of {self.pages * self.page_tokens}"
            raise LabError(message)
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((pages, granted))
        self._admit()
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.give_back(pages)
            self._admit()
            raise
        return Lease(self, pages)

    def _admit(self) -> None:
        while self._waiting:
            pages, granted = self._waiting[0]
            if not granted.done():
                if pages > self._allocator.available - self._reserved:
                    return
                self._reserved += pages
                granted.set_result(None)
            self._waiting.popleft()

    def give_back(self, pages: int) -> None:
        """End a promise of pages that were not taken."""
        self._reserved -= pages
        self._admit()

    def allocate(self, tokens: int, *, is_step: bool) -> Pages:
        """Turn promised room into pages."""
        pages = self._allocator.step() if is_step else self._allocator.extend(tokens)
        if pages is None:
            raise LabError("the pool promised more pages than it has")
        self._reserved -= len(pages)
        return pages

    def free(self, pages: Pages) -> None:
        """Return pages; what they hold stays in memory."""
        self._allocator.release(pages)
        self._admit()

    def read_pages(self, pages: Pages) -> npt.NDArray[np.int32]:
        """Copy of the rows of these pages, [pages, page_tokens], whoever wrote them."""
        return self._memory[pages]

    def write_pages(self, pages: Pages, rows: npt.NDArray[np.int32], owners: npt.NDArray[np.int64]) -> None:
        """Overwrite whole pages, as a transfer from another pool does."""
        self.writes += 1
        self._memory[pages] = rows
        self.owners[pages] = owners
        self._stamps[pages] = self.writes

    def write_tokens(self, pages: Pages, position: int, ids: Ids, owner: int) -> None:
        """Write ids at a position of the sequence whose page table is `pages`; the rest of a page stays as it was."""
        self.writes += 1
        positions = np.arange(position, position + len(ids))
        rows = pages[positions // self.page_tokens]
        self._memory[rows, positions % self.page_tokens] = ids
        self.owners[rows] = owner
        self._stamps[rows] = self.writes

    def latest_write(self, pages: Pages) -> int:
        """Number of the latest write to any of these pages."""
        return int(self._stamps[pages].max(initial=0))


class Lease:
    """Room of one request: a promise of pages, and the page table of those already taken."""

    def __init__(self, pool: KvPool, pages: int) -> None:
        self._pool = pool
        self._promised = pages
        self.pages: Pages = np.zeros(0, dtype=np.int32)
        self._is_released = False

    def take(self, tokens: int) -> None:
        """Append pages for so many more tokens, starting on a page's edge."""
        self._append(self._pool.allocate(tokens, is_step=False))

    def write(self, position: int, ids: Ids, owner: int) -> None:
        """Write ids at a position, taking single pages as a decode step does where the table ends."""
        while position + len(ids) > len(self.pages) * self._pool.page_tokens:
            self._append(self._pool.allocate(1, is_step=True))
        self._pool.write_tokens(self.pages, position, ids, owner)

    def _append(self, pages: Pages) -> None:
        self._promised -= len(pages)
        self.pages = np.concatenate([self.pages, pages])

    def read(self, tokens: int) -> Ids:
        """Read the first ids of the sequence: what the pages hold that the page table names."""
        pages = self.pages[: self._pool.pages_for(tokens)]
        return self._pool.read_pages(pages).reshape(-1)[:tokens]

    def release(self) -> None:
        """Return pages and promise; doing so again changes nothing."""
        if self._is_released:
            return
        self._is_released = True
        self._pool.give_back(self._promised)
        self._pool.free(self.pages)
