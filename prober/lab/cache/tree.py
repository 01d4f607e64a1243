"""The prefix tree: which pages on the device hold the beginnings of earlier prompts."""

import collections
import dataclasses
from collections.abc import Iterable, Sequence


@dataclasses.dataclass(slots=True, eq=False)
class Node:
    """One page on the device. Its key names the whole path from the root, so that no walk is needed to find it."""

    key: bytes
    parent: bytes
    """Key of the page before it, or of the empty prefix."""
    ids: bytes
    """What it holds, as the prompt had it: int32."""
    page: int
    snapshot: bytes | None = None
    """A copy for the tiers that was taken already; None: it is taken when the page is evicted."""
    holders: int = 0
    """Requests in flight that read it."""


class PrefixTree:
    """Nodes by key, and the idle ones by their latest use; a path is always let go of from its end.

    So a page is never used longer ago than those that follow it, and eviction takes leaves first. As in SGLang's radix
    cache (mem_cache/radix_cache.py) and vLLM's block pool (v1/core/block_pool.py).
    """

    def __init__(self) -> None:
        self._nodes: dict[bytes, Node] = {}
        self._idle: collections.OrderedDict[Node, None] = collections.OrderedDict()
        self._children: dict[bytes, Node] = {}
        """Parent's key -> the latest child."""

    def __len__(self) -> int:
        """Pages held on the device."""
        return len(self._nodes)

    @property
    def idle(self) -> int:
        """Pages that nobody reads, hence may be evicted."""
        return len(self._idle)

    def match(self, keys: Iterable[bytes]) -> list[Node]:
        """Nodes of the longest beginning of a path that is there."""
        found: list[Node] = []
        for key in keys:
            node = self._nodes.get(key)
            if node is None:
                break
            found.append(node)
        return found

    def child(self, parent: bytes) -> Node | None:
        """The latest page that follows a key."""
        return self._children.get(parent)

    def hold(self, path: Sequence[Node]) -> None:
        """Keep nodes from being evicted."""
        for node in path:
            if not node.holders:
                del self._idle[node]
            node.holders += 1

    def let_go(self, path: Sequence[Node]) -> None:
        """End `hold`; those that nobody holds any more become the latest used."""
        for node in reversed(path):
            node.holders -= 1
            if not node.holders:
                self._idle[node] = None

    def touch(self, key: bytes) -> bool:
        """Make a node the latest used, if it is there."""
        node = self._nodes.get(key)
        if node is not None and not node.holders:
            self._idle.move_to_end(node)
        return node is not None

    def add(self, node: Node) -> None:
        """Take in a node whose key is not there, as the latest used."""
        self._nodes[node.key] = node
        self._idle[node] = None
        self._children[node.parent] = node

    def evict(self, count: int) -> list[Node]:
        """Give up so many idle nodes, those unused for longest."""
        evicted = [self._idle.popitem(last=False)[0] for _ in range(count)]
        for node in evicted:
            del self._nodes[node.key]
            if self._children.get(node.parent) is node:
                del self._children[node.parent]
        return evicted
