"""Who wrote the pages that answered a request: truth for tests and records, seen by nothing that answers."""

import dataclasses

import numpy as np

from prober.lab.allocator import Pages
from prober.lab.pool import NOBODY, STUB, KvPool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """Page counts of one page table at the moment decode began."""

    request_id: str
    tenant: str
    pages: int
    own: int
    foreign: int
    stub: int
    zero: int
    """Never written since the start."""
    owners: int
    """Different foreign writers."""
    runs: int
    """Unbroken stretches of pages of one foreign writer."""
    cached: int = 0
    """Shared pages of the prefix cache, which an earlier request wrote: neither own nor foreign."""

    @classmethod
    def of(cls, request_id: str, tenant: str, room: int, pool: KvPool, pages: Pages, shared: int = 0) -> "Census":
        """Count one page table, whose first `shared` pages are the prefix cache's."""
        owners = pool.owners[pages[shared:]]
        is_foreign = (owners != room) & (owners != STUB) & (owners != NOBODY)
        starts = np.append(True, owners[1:] != owners[:-1]) & is_foreign
        return cls(
            request_id=request_id,
            tenant=tenant,
            pages=len(pages),
            own=int((owners == room).sum()),
            foreign=int(is_foreign.sum()),
            stub=int((owners == STUB).sum()),
            zero=int((owners == NOBODY).sum()),
            owners=len(np.unique(owners[is_foreign])),
            runs=int(starts.sum()),
            cached=shared,
        )
