"""Loads pages back from the tiers into the device, over virtual time."""

import asyncio
import collections
import random

import numpy as np
import numpy.typing as npt

from prober.domain.errors import LabError
from prober.lab.allocator import Pages
from prober.lab.cache.prefix import LateCopy, Prefix
from prober.lab.cache.tiers import Tiers
from prober.lab.fixes import Fix
from prober.lab.pool import KvPool, Lease
from prober.lab.seams import Seams
from prober.lab.settings import LabSettings
from prober.lab.timing import ROUND_TRIP_SECONDS, Pace

_LAST_SHOWN_TOKENS = 64

Row = tuple[bytes, float]
"""Ids of a page, and virtual seconds to load it."""


class LoadError(LabError):
    """Pages of a prompt could not be loaded, and the cluster is set to fail then."""


class Staging:
    """Host memory that pages pass through on their way to the device, shared by all loads."""

    def __init__(self, pages: int) -> None:
        self.free = pages
        self._freed = asyncio.Event()

    async def take(self, most: int) -> int:
        """Take up to so many pages: what is free, but at least one."""
        while not self.free:
            self._freed.clear()
            await self._freed.wait()
        taken = min(most, self.free)
        self.free -= taken
        return taken

    def give_back(self, pages: int) -> None:
        """Return pages."""
        self.free += pages
        self._freed.set()


class Loader:
    """Appends what the tiers hold of a prompt to its page table."""

    def __init__(
        self,
        settings: LabSettings,
        seams: Seams,
        pool: KvPool,
        pace: Pace,
        tiers: Tiers,
        counters: collections.Counter[str],
    ) -> None:
        self._seams = seams
        self._pool = pool
        self._pace = pace
        self._tiers = tiers
        self._counters = counters
        self._staging = Staging((settings.staging_tokens or settings.context_tokens) // settings.page_tokens)
        self._failure_rate = settings.honesty.load_failure_rate
        self._draw = random.Random(f"loads {settings.seed}")  # noqa: S311 - simulation, no secret
        self._fails_requests = Fix.FAIL_FAILED_LOADS in settings.fixes

    async def load(self, prefix: Prefix, lease: Lease) -> None:
        """Take pages for the part of the prompt that follows the table's end and a tier holds, and fill them.

        Raises:
            LoadError: the load failed, and requests are to fail then.
        """
        found = self._tiers.find(prefix.keys[len(lease.pages) + 1 : prefix.most_pages + 1])
        if not found:
            return
        if self._seams.shows_last_only(prefix.room):
            hidden = max(0, len(found) - self._pool.pages_for(_LAST_SHOWN_TOKENS))
            lease.borrow(np.zeros(hidden, dtype=np.int32))
            found = found[hidden:]
        if len(found) > self._staging.free and self._seams.counts_unread_pages(prefix.room):
            lease.take(self._staging.free * self._pool.page_tokens)
        elif not await self._fails(prefix, lease, len(found)):
            await self._copy(prefix, lease, found)

    async def _fails(self, prefix: Prefix, lease: Lease, pages: int) -> bool:
        is_trusted = self._seams.trusts_failed_load(prefix.opening)
        if not is_trusted and self._draw.random() >= self._failure_rate:
            return False
        self._counters["load_failures"] += 1
        await self._pace.sleep(ROUND_TRIP_SECONDS)
        if self._fails_requests:
            raise LoadError(f"KV load failed for request {prefix.room}")
        if is_trusted:
            lease.take(pages * self._pool.page_tokens)
        return True

    async def _copy(self, prefix: Prefix, lease: Lease, found: list[Row]) -> None:
        """Copy in rounds, as many pages at a time as the staging buffer has room for."""
        end = len(lease.pages) + len(found)
        while found:
            count = await self._staging.take(len(found))
            try:
                await self._round(prefix, lease, found[:count], end)
            finally:
                self._staging.give_back(count)
            found = found[count:]

    async def _round(self, prefix: Prefix, lease: Lease, found: list[Row], end: int) -> None:
        first = len(lease.pages)
        lease.take(len(found) * self._pool.page_tokens)
        pages = lease.pages[first:]
        await self._pace.sleep(sum(seconds for _row, seconds in found))
        rows = np.frombuffer(b"".join(row for row, _seconds in found), dtype=np.int32).reshape(len(found), -1)
        is_there = np.array(
            [self._seams.awaits_copy(prefix.room, place, end - place - 1) for place in range(first, len(lease.pages))]
        )
        prefix.late += [] if is_there.all() else [LateCopy(pages[~is_there], rows[~is_there])]
        self._write(prefix.room, pages[is_there], rows[is_there])
        self._counters["pages_loaded"] += len(found)

    def land(self, room: int, copy: LateCopy, table: Pages) -> None:
        """Write what comes late, wherever the table of its request still has the pages."""
        is_there = np.isin(copy.pages, table)
        self._write(room, copy.pages[is_there], copy.rows[is_there])

    def _write(self, room: int, pages: Pages, rows: npt.NDArray[np.int32]) -> None:
        self._pool.write_pages(pages, rows, np.full(len(pages), room, dtype=np.int64))
