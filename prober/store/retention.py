"""Deletes what is too old, then the oldest of what is too much: in small batches, so that nobody waits for it."""

import asyncio
import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence

from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.prunable import Canaries, Excerpts, Findings, Jobs, Observations, Prunable, Runs
from prober.store.schema.vault import Pruned
from prober.store.self_test_rows import forget_stale
from prober.store.sizes import give_back, live_bytes
from prober.store.spending import SpendingBook

PAUSE_SECONDS = 0.02
"""Between two batches: SQLite's writers wait their turn by asking again, and must find a gap."""

KNOWN_JOBS = dt.timedelta(days=1)
"""Jobs this young stay, whatever the size: a slot or an idempotency key whose job is gone would be run once more. It is
the longest grace of a schedule; replicas deal with a slot, and callers ask again, well within it."""

MEASURED_EVERY = 10
"""Batches between two looks at the size where that means counting all rows, as on PostgreSQL."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long what is kept, and how much of all together."""

    observations: dt.timedelta
    runs: dt.timedelta
    findings: dt.timedelta
    vault: dt.timedelta
    max_bytes: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """What one pruning did, or would do."""

    rows: Mapping[Pruned, int]
    """Deleted, by kind; what hangs on a row does not count."""
    bytes_before: int
    bytes_after: int
    is_above_cap: bool
    """There is more than may be, and nothing left that may be deleted: running runs and unsettled issues hold it."""


class Retention:
    """Prunes one database. Several replicas may do it at once. Raises LedgerError only."""

    def __init__(
        self, database: Database, clock: Clock, limits: Limits, *, pause_seconds: float = PAUSE_SECONDS
    ) -> None:
        self._database = database
        self._clock = clock
        self._limits = limits
        self._pause_seconds = pause_seconds

    async def prune(self) -> Pruning:
        """Delete by age, then by size, then give space back; cancelling it leaves whole batches deleted."""
        counts = dict.fromkeys(Pruned, 0)
        before = await live_bytes(self._database)
        await forget_stale(self._database, self._clock.now())
        for prunable in self._by_age():
            while rows := await self._step(prunable):
                counts[prunable.kind] += rows
        await SpendingBook(self._database, self._clock).prune(self._clock.now() - self._limits.runs)
        is_above_cap = await self._prune_by_size(counts)
        await give_back(self._database)
        after = await live_bytes(self._database)
        return Pruning(rows=counts, bytes_before=before, bytes_after=after, is_above_cap=is_above_cap)

    async def rehearse(self) -> Pruning:
        """Count what is too old; nothing is deleted, and what size would take is not foreseen."""
        counts = dict.fromkeys(Pruned, 0)
        size = await live_bytes(self._database)
        for prunable in self._by_age():
            while (batch := await prunable.step(self._database, self._clock.now(), is_dry=True)).rows:
                counts[prunable.kind] += batch.rows
        return Pruning(rows=counts, bytes_before=size, bytes_after=size, is_above_cap=size > self._limits.max_bytes)

    def _by_age(self) -> tuple[Prunable, ...]:
        """Findings first, which hold runs and observations back."""
        now, limits = self._clock.now(), self._limits
        return (
            Excerpts(now - limits.vault),
            Findings(now - limits.findings),
            Observations(now - limits.observations),
            Canaries(now - limits.runs),
            Runs(now - limits.runs),
            Jobs(now - limits.runs),
        )

    def _by_size(self) -> Sequence[Prunable]:
        """Findings last: they are what all the rest is for."""
        now = self._clock.now()
        return [
            Observations(now),
            Canaries(now),
            Runs(now),
            Jobs(now - KNOWN_JOBS),
            Excerpts(now),
            Findings(now),
        ]

    async def _prune_by_size(self, counts: dict[Pruned, int]) -> bool:
        """Delete the oldest while there is too much; True where that does not help."""
        order = self._by_size()
        every = MEASURED_EVERY if self._database.kind == "postgresql" else 1
        while await live_bytes(self._database) > self._limits.max_bytes:
            for _ in range(every):
                kind = await self._step_by_size(order, counts)
                if kind is None:
                    return await live_bytes(self._database) > self._limits.max_bytes
                if kind is Pruned.FINDINGS:
                    # What it held back may go now.
                    order = self._by_size()
        return False

    async def _step_by_size(self, order: Sequence[Prunable], counts: dict[Pruned, int]) -> Pruned | None:
        """Delete one batch of the first kind that has any; None where nothing is left."""
        for prunable in order:
            rows = await self._step(prunable)
            if rows:
                counts[prunable.kind] += rows
                return prunable.kind
        return None

    async def _step(self, prunable: Prunable) -> int:
        """Delete one batch, then let others write; return its rows."""
        batch = await prunable.step(self._database, self._clock.now())
        if batch.rows:
            await asyncio.sleep(self._pause_seconds)
        return batch.rows
