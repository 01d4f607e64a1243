"""The part of one request's prompt that it may share with earlier ones."""

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from prober.lab.allocator import Pages
from prober.lab.cache.tree import Node, PrefixTree
from prober.lab.tokenizer import Ids


@dataclasses.dataclass(frozen=True, slots=True)
class LateCopy:
    """Pages that were counted as restored before their copies came."""

    pages: Pages
    rows: npt.NDArray[np.int32]
    """[pages, page_tokens]."""


@dataclasses.dataclass(slots=True, kw_only=True, eq=False)
class Prefix:
    """A request's place in the cache: what to look for, and what it reads until it has ended.

    The pool asks it, when there may be room for the request, how many pages need not be taken.
    """

    room: int
    ids: Ids = dataclasses.field(repr=False)
    page_tokens: int
    opening: bytes = dataclasses.field(repr=False)
    pages: list[bytes] = dataclasses.field(repr=False)
    """Ids of each whole page of the prompt, int32."""
    keys: list[bytes] = dataclasses.field(repr=False)
    """Of the empty prefix, then of each whole page."""
    tree: PrefixTree
    look_up: Callable[["Prefix"], list[Node]]
    nodes: list[Node] = dataclasses.field(default_factory=list, repr=False)
    """Held."""
    late: list[LateCopy] = dataclasses.field(default_factory=list, repr=False)
    snapshot: bytes | None = dataclasses.field(default=None, repr=False)
    """Of the last page that may come from the cache, if it was taken early."""
    is_misled: bool = False
    """The held nodes belong to a prompt that this one does not begin like."""
    cached_tokens: int = 0
    """Prompt tokens that were not computed, as the answer's usage reports them."""

    @property
    def most_pages(self) -> int:
        """Pages that may come from the cache: the last token is always computed, as its output is the first answer."""
        return (len(self.ids) - 1) // self.page_tokens

    def hold(self) -> int:
        """Keep the matching pages on the device, and count them."""
        self.nodes = self.look_up(self)
        self.tree.hold(self.nodes)
        return len(self.nodes)

    def let_go(self) -> None:
        """End `hold`; doing so again changes nothing."""
        self.tree.let_go(self.nodes)
        self.nodes = []
