"""Switches that every replica obeys: the global stop, and schedules that are paused."""

import dataclasses
import datetime as dt

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from prober.runner.ports import Clock
from prober.store.database import Database
from prober.store.rows import clip
from prober.store.schema.columns import NAME_LENGTH
from prober.store.schema.work import switches

STOP = "stop"
_SCHEDULE = "schedule/"

STOP_IS_THROWN = sa.exists().where(switches.c.name == STOP)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Thrown:
    """A switch that is thrown: since when, by whom."""

    at: dt.datetime
    by: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """All of them at one moment."""

    stop: Thrown | None
    paused: dict[str, Thrown]
    """Schedules by name."""


class SwitchBoard:
    """Throws and releases switches. Every method is one transaction and raises LedgerError only."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def stop(self, by: str) -> None:
        """End all probing: nothing is claimed, and runs under way end at their next wave."""
        await self._throw(STOP, by)

    async def go_on(self) -> None:
        """Release the stop."""
        await self._release(STOP)

    async def pause(self, schedule: str, by: str) -> None:
        """Let a schedule queue nothing, on any replica, until it is resumed."""
        await self._throw(_SCHEDULE + schedule, by)

    async def resume(self, schedule: str) -> None:
        """Let a schedule queue runs again, from now on; what fell into the pause is no missed slot."""
        await self._release(_SCHEDULE + schedule)

    async def read(self) -> Switches:
        """Tell which are thrown."""
        async with self._database.read() as connection:
            rows = (await connection.execute(sa.select(switches))).all()
        thrown = {row.name: Thrown(at=row.thrown_at, by=row.thrown_by) for row in rows}
        paused = {name.removeprefix(_SCHEDULE): each for name, each in thrown.items() if name.startswith(_SCHEDULE)}
        return Switches(stop=thrown.get(STOP), paused=paused)

    async def _throw(self, name: str, by: str) -> None:
        """One that is thrown already keeps its first date and name."""
        row = {"name": name, "thrown_at": self._clock.now(), "thrown_by": clip(by, NAME_LENGTH)}
        async with self._database.begin() as connection:
            insert = postgresql.insert if self._database.kind == "postgresql" else sqlite.insert
            await connection.execute(insert(switches).values(row).on_conflict_do_nothing())

    async def _release(self, name: str) -> None:
        async with self._database.begin() as connection:
            await connection.execute(sa.delete(switches).where(switches.c.name == name))
