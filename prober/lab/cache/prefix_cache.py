"""The prefix cache of one pool: pages of finished prompts stay, and later prompts that begin alike read them."""

import collections

import numpy as np

from prober.lab.allocator import Pages
from prober.lab.cache.loading import Loader
from prober.lab.cache.prefix import Prefix
from prober.lab.cache.store import CacheStore
from prober.lab.cache.tiers import Tiers
from prober.lab.cache.tree import Node, PrefixTree
from prober.lab.handoff import Job
from prober.lab.page_keys import OPENING_TOKENS
from prober.lab.pool import KvPool, Lease
from prober.lab.seams import Seams
from prober.lab.settings import LabSettings
from prober.lab.timing import Pace
from prober.lab.tokenizer import Ids

_REMEMBERED_PROMPTS = 8
_ID_BYTES = 4


class PrefixCache:
    """Device pages by their keys, with tiers below.

    For each request: `prefix`, `pool.reserve(tokens, prefix)`, `restore`, and at its end, whatever happened, `keep`.
    Shared pages are only read; what a request writes goes to pages of its own.
    """

    def __init__(
        self,
        settings: LabSettings,
        seams: Seams,
        pool: KvPool,
        pace: Pace,
        store: CacheStore,
        counters: collections.Counter[str],
    ) -> None:
        self._page_tokens = settings.page_tokens
        self._seams = seams
        self._pool = pool
        self._counters = counters
        self._tree = PrefixTree()
        disk = store.open(settings.disk_tokens, settings.page_tokens, seams.place_on_disk)
        self._tiers = Tiers(settings, pace, disk)
        self._loader = Loader(settings, seams, pool, pace, self._tiers, counters)
        self._finished: collections.deque[list[bytes]] = collections.deque(maxlen=_REMEMBERED_PROMPTS)
        """Keys of the latest prompts that were kept."""
        pool.cache = self

    def prefix(self, job: Job, ids: Ids) -> Prefix:
        """Find a prompt's place; nothing is held before there is room for the request."""
        data, size = ids.tobytes(), self._page_tokens * _ID_BYTES
        pages = [data[start : start + size] for start in range(0, len(data) - size + 1, size)]
        opening = data[: OPENING_TOKENS * _ID_BYTES]
        prefix = Prefix(
            room=job.room,
            ids=ids,
            page_tokens=self._page_tokens,
            opening=opening,
            pages=pages,
            keys=self._seams.page_keys(job.request.tenant, job.request.cache_salt, opening, pages),
            tree=self._tree,
            look_up=self._match,
        )
        is_returning = prefix.most_pages > 0 and 2 * len(self._match(prefix)) >= prefix.most_pages
        if is_returning and self._seams.restores_unrelated(job.room):
            prefix.look_up = self._unrelated
        return prefix

    def _match(self, prefix: Prefix) -> list[Node]:
        return self._tree.match(prefix.keys[1 : prefix.most_pages + 1])

    def _unrelated(self, prefix: Prefix) -> list[Node]:
        """Pages of the latest finished prompt that this one does not begin like; its own when there is none."""
        own = set(prefix.keys)
        for keys in reversed(self._finished):
            nodes = self._tree.match(keys[1 : prefix.most_pages + 1])
            if nodes and nodes[-1].key not in own:
                prefix.is_misled = True
                return nodes
        prefix.is_misled = False
        return self._match(prefix)

    async def restore(self, prefix: Prefix, lease: Lease) -> int:
        """Put what the cache has of a prompt into its page table; returns how many tokens need not be computed.

        Raises:
            LoadError: see `Loader.load`.
        """
        lease.borrow(np.array([node.page for node in prefix.nodes], dtype=np.int32))
        if prefix.is_misled:
            return len(lease.pages) * self._page_tokens
        await self._loader.load(prefix, lease)
        whole = len(lease.pages) * self._page_tokens
        prefix.cached_tokens = whole + self._copy_edge(prefix, lease)
        self._counters["prefix_hits"] += bool(prefix.nodes)
        self._counters["cached_tokens"] += prefix.cached_tokens
        return prefix.cached_tokens

    def _copy_edge(self, prefix: Prefix, lease: Lease) -> int:
        """Copy what the next page has in common with a page that follows the same prefix; returns how many tokens."""
        start = len(lease.pages) * self._page_tokens
        node = self._tree.child(prefix.keys[len(lease.pages)])
        wanted = prefix.ids[start : start + self._page_tokens][: len(prefix.ids) - 1 - start]
        if node is None or not wanted.size:
            return 0
        is_other = np.frombuffer(node.ids, dtype=np.int32)[: len(wanted)] != wanted
        same = int(is_other.argmax()) if is_other.any() else len(wanted)
        if same:
            lease.take(same)
            [row] = self._pool.read_pages(np.array([node.page]))
            lease.write(start, row[:same], prefix.room)
        return same

    def on_taken(self, prefix: Prefix, lease: Lease, start: int, end: int) -> None:
        """Be told that the pages of a chunk were taken, and not written yet."""
        last = prefix.most_pages - 1
        is_in_chunk = start < prefix.most_pages * self._page_tokens <= end
        if is_in_chunk and self._seams.snapshots_early(prefix.room):
            prefix.snapshot = self._pool.read_pages(lease.pages[last : last + 1]).tobytes()

    def keep(self, prefix: Prefix, lease: Lease, *, is_computed: bool) -> None:
        """End a request: keep its prompt's whole pages when they were computed, and let go of all others."""
        for copy in prefix.late:
            self._loader.land(prefix.room, copy, lease.pages)
        if is_computed:
            self._keep_pages(prefix, lease)
        prefix.let_go()

    def _keep_pages(self, prefix: Prefix, lease: Lease) -> None:
        places: list[int] = []
        # From the end on, so that no page has been used longer ago than those that follow it.
        for place in reversed(range(len(prefix.pages))):
            key = prefix.keys[place + 1]
            if self._tree.touch(key) or not lease.owns(place):
                continue
            node = Node(key, prefix.keys[place], prefix.pages[place], int(lease.pages[place]))
            if place == prefix.most_pages - 1:
                node.snapshot = prefix.snapshot
            self._tree.add(node)
            places.append(place)
        lease.cede(places)
        self._finished.append(prefix.keys)

    @property
    def idle(self) -> int:
        """Pages that nobody reads."""
        return self._tree.idle

    def evict(self, count: int) -> Pages:
        """Give up so many idle pages, those unused for longest; what they hold is written back to the tiers."""
        nodes = self._tree.evict(count)
        pages = np.array([node.page for node in nodes], dtype=np.int32)
        self._counters["pages_evicted"] += count
        if self._tiers.has_room:
            rows = self._pool.read_pages(pages)
            self._tiers.save((node.key, node.snapshot or row.tobytes()) for node, row in zip(nodes, rows, strict=True))
        # In their prompts' order, so that whoever takes them next gets runs of pages that belong together.
        return pages[::-1]

    def close(self) -> None:
        """End with the cluster: every page is free, and what the disk has room for is on it."""
        self._pool.free(self.evict(self.idle))
        self._tiers.drain()
