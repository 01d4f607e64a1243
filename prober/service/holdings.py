"""The jobs that this replica holds: shared by its worker, which runs them, and its heart, which keeps them."""

import asyncio
import dataclasses
import enum

from prober.domain.job import Job
from prober.domain.verdict import RunReport


class Cut(enum.Enum):
    """Why a run under way was ended before its verdict."""

    CANCELLED = "cancelled"
    """Somebody asked for it."""
    LOST = "lost"
    """Another replica holds the job now."""
    UNHEARD = "unheard"
    """The database could not be told in time that this replica lives: another one may begin any moment."""
    DRAINED = "drained"
    """This replica ends, and its time for that was over."""


@dataclasses.dataclass(slots=True, eq=False)
class Held:
    """One claimed job and its run."""

    job: Job
    run: asyncio.Task[RunReport]
    heard_at: float
    """Monotonic time at which the lease was last known to be granted."""
    why_cut: Cut | None = None

    def cut(self, why: Cut) -> None:
        """End the run, which then closes as INCONCLUSIVE. The first reason stands."""
        if self.why_cut is None and not self.run.done():
            self.why_cut = why
            self.run.cancel()


class Holdings:
    """All jobs held, by id."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}

    def __len__(self) -> int:
        """How many."""
        return len(self._held)

    def add(self, held: Held) -> None:
        """Hold one more."""
        self._held[held.job.job_id] = held

    def drop(self, held: Held) -> None:
        """Hold it no longer."""
        self._held.pop(held.job.job_id, None)

    def all(self) -> tuple[Held, ...]:
        """Those held now."""
        return tuple(self._held.values())

    def cut_all(self, why: Cut) -> None:
        """End every run under way."""
        for held in self.all():
            held.cut(why)
