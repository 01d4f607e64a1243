"""KV memory of one role: pages of token ids, zero once at the start and never cleared."""

import asyncio
import collections
from collections.abc import Iterable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from prober.domain.errors import LabError
from prober.lab.allocator import PagedAllocator, Pages
from prober.lab.tokenizer import Ids

NOBODY = 0
STUB = -1
"""Owner mark of pages that a stub's forward pass wrote."""


class SharedPages(Protocol):
    """Pages of a prefix cache that one request means to read."""

    def hold(self) -> int:
        """Keep those that are there now, and count them: so many need not be taken."""
        ...

    def let_go(self) -> None:
        """End `hold`; doing so again changes nothing."""
        ...


class IdlePages(Protocol):
    """Pages that a prefix cache keeps, and gives up when the pool runs short."""

    @property
    def idle(self) -> int:
        """How many can be given up."""
        ...

    def evict(self, count: int) -> Pages:
        """Give up so many; the pool may hand them out at once."""
        ...


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
        self.cache: IdlePages | None = None
        self._reserved = 0
        self._waiting: collections.deque[tuple[int, SharedPages | None, asyncio.Future[int]]] = collections.deque()

    @property
    def available_tokens(self) -> int:
        """Tokens neither held nor promised; what a cache would give up counts as available, as it does in SGLang."""
        return (self._allocator.available + self._idle - self._reserved) * self.page_tokens

    @property
    def used_tokens(self) -> int:
        """Tokens in pages that are held."""
        return (self.pages - self._allocator.available - self._idle) * self.page_tokens

    @property
    def waiting(self) -> int:
        """Requests that wait for room."""
        return len(self._waiting)

    def pages_for(self, tokens: int) -> int:
        """Whole pages that hold so many tokens."""
        return -(-tokens // self.page_tokens)

    @property
    def _idle(self) -> int:
        return self.cache.idle if self.cache else 0

    async def reserve(self, tokens: int, shared: SharedPages | None = None) -> "Lease":
        """Wait, first come first served, until so many tokens fit; whoever does not fit holds up all behind it.

        `shared` pages need no room. They are held from the moment of admission on, so that nobody who waits keeps
        others from it; whoever called lets go of them.

        Raises:
            LabError: they can never fit.
        """
        pages = self.pages_for(tokens)
        if pages > self.pages:
            message = f"{tokens} tokens can never fit a pool of {self.pages * self.page_tokens}"
            raise LabError(message)
        granted: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((pages, shared, granted))
        self._admit()
        try:
            return Lease(self, await granted)
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                if shared:
                    shared.let_go()
                self.give_back(granted.result())
            self._admit()
            raise

    def _admit(self) -> None:
        while self._waiting:
            pages, shared, granted = self._waiting[0]
            if not granted.done():
                if shared:
                    pages -= shared.hold()
                if not self.promise(pages):
                    if shared:
                        shared.let_go()
                    return
                granted.set_result(pages)
            self._waiting.popleft()

    def promise(self, pages: int) -> bool:
        """Promise so many pages at once, ahead of all who wait; False: there are too few."""
        short = pages - (self._allocator.available - self._reserved)
        if short > self._idle:
            return False
        if self.cache and short > 0:
            self._allocator.release(self.cache.evict(short))
        self._reserved += pages
        return True

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
        self._ceded: set[int] = set()
        self._is_released = False

    def take(self, tokens: int) -> None:
        """Append pages for so many more tokens, starting on a page's edge."""
        self._append(self._pool.allocate(tokens, is_step=False))

    def borrow(self, pages: Pages) -> None:
        """Append pages that belong to someone else: read, never written and never returned from here."""
        self.cede(range(len(self.pages), len(self.pages) + len(pages)))
        self.pages = np.concatenate([self.pages, pages])

    def cede(self, places: Iterable[int]) -> None:
        """Leave the pages at these places of the table to someone else, for good."""
        self._ceded.update(places)

    def owns(self, place: int) -> bool:
        """Whether the page at a place of the table was taken from the pool and is still this request's."""
        return place < len(self.pages) and place not in self._ceded

    def write(self, position: int, ids: Ids, owner: int) -> None:
        """Write ids at a position, taking single pages as a decode step does where the table ends."""
        while position + len(ids) > len(self.pages) * self._pool.page_tokens:
            self._append(self._pool.allocate(1, is_step=True))
        self._pool.write_tokens(self.pages, position, ids, owner)

    def reaches(self, tokens: int) -> bool:
        """Make sure of room for so many tokens in all, promised or taken; False: the pool is short of it."""
        missing = self._pool.pages_for(tokens) - len(self.pages) - self._promised
        if missing <= 0:
            return True
        is_promised = self._pool.promise(missing)
        self._promised += missing * is_promised
        return is_promised

    def give_up(self) -> None:
        """Return pages and promise for the time being; `renew` waits for room again."""
        promised, pages = self._promised, self._own_pages()
        self._promised, self.pages = 0, np.zeros(0, dtype=np.int32)
        self._ceded.clear()
        self._pool.give_back(promised)
        self._pool.free(pages)

    async def renew(self, tokens: int) -> None:
        """Wait for room for so many tokens, as `KvPool.reserve` does."""
        renewed = await self._pool.reserve(tokens)
        self._promised, renewed._promised = renewed._promised, 0  # noqa: SLF001 - another of its own kind

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
        self._pool.free(self._own_pages())

    def _own_pages(self) -> Pages:
        return np.delete(self.pages, list(self._ceded)) if self._ceded else self.pages
