"""Free lists of KV pages, as SGLang keeps them (mem_cache/allocator/paged.py)."""

import numpy as np
import numpy.typing as npt

Pages = npt.NDArray[np.int32]


class PagedAllocator:
    """Hands out page numbers 1..pages; page 0 is reserved for padding.

    With `need_sort` (the disaggregated roles) freed pages wait in a staged list and are merged and sorted only when the
    free list runs short: reuse sweeps upward and then wraps to the lowest numbers. Without (aggregated) freed pages go
    to the head of the free list and are reused at once.
    """

    def __init__(self, pages: int, page_tokens: int, *, need_sort: bool) -> None:
        self._page_tokens = page_tokens
        self._need_sort = need_sort
        self._free: Pages = np.arange(1, pages + 1, dtype=np.int32)
        self._staged: list[Pages] = []
        self._staged_count = 0

    @property
    def available(self) -> int:
        """Pages that can be handed out."""
        return len(self._free) + self._staged_count

    def extend(self, tokens: int) -> Pages | None:
        """Pages for that many more tokens, starting on a page's edge; None when there are too few."""
        self._merge_when_short(tokens // self._page_tokens + 2)
        return self._take(-(-tokens // self._page_tokens))

    def step(self) -> Pages | None:
        """One page for the next decode step; None when there is none."""
        self._merge_when_short(1)
        return self._take(1)

    def release(self, pages: Pages) -> None:
        """Give pages back."""
        if self._need_sort:
            self._staged.append(pages)
            self._staged_count += len(pages)
        else:
            self._free = np.concatenate([pages, self._free])

    def _merge_when_short(self, needed: int) -> None:
        if self._staged and needed > len(self._free):
            self._free = np.sort(np.concatenate([self._free, *self._staged]))
            self._staged, self._staged_count = [], 0

    def _take(self, count: int) -> Pages | None:
        if count > len(self._free):
            return None
        taken, self._free = self._free[:count], self._free[count:]
        return taken
