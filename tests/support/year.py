"""A year of runs in a minute: rows copied in bulk by the database itself, from a run that was really recorded."""

import dataclasses
import datetime as dt
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.store.database import Database
from prober.store.schema import metadata
from prober.store.schema.runs import findings, observations, probes, runs
from tests.support.evidence import a_finding
from tests.support.ledger import SettableClock
from tests.support.reports import a_report
from tests.support.vault import Archive, answer

RUNS_PER_DAY = 48


class Year:
    """Adds runs of clean probes, every half hour one; the clock goes with them."""

    def __init__(self, database: Database, clock: SettableClock, probes_per_run: int) -> None:
        self.archive = Archive(database, clock)
        self.clock = clock
        self.probes_per_run = probes_per_run
        self.runs = 0

    async def pass_days(self, days: int) -> None:
        """Let days pass, their runs included."""
        template = await self._recorded()
        async with self.archive.database.begin() as connection:
            await self._copy(connection, template, days * RUNS_PER_DAY)
        self.runs += days * RUNS_PER_DAY
        self.clock.advance(days * 86_400)

    async def _recorded(self) -> str:
        """The first run, by the ledger itself."""
        run = await self.archive.run(f"run-{self.runs}")
        found = [a_finding(reason, Outcome.CLEAN) for reason in (Reason.SERVED, Reason.RECALL_OK)]
        for number in range(self.probes_per_run):
            await self.archive.record(run, answer(number, *found))
        await self.archive.ledger.close_run(a_report(run=run, ended_at=self.clock.now(), findings=()))
        return run.run_id

    async def _copy(self, connection: AsyncConnection, template: str, run_count: int) -> None:
        """The other runs: the first one's rows again, with ids, dates and run of their own."""
        ids = sa.select(sa.func.min(probes.c.id), sa.func.max(probes.c.id))
        (first, _), (_, last) = [
            (await connection.execute(query)).one() for query in (ids.where(probes.c.run_id == template), ids)
        ]
        given = sa.values(
            sa.column("number", sa.Integer),
            sa.column("run_id", runs.c.run_id.type),
            sa.column("at", runs.c.started_at.type),
            sa.column("shift", sa.BigInteger),
            name="given",
        ).data(
            [
                (
                    number,
                    f"{template}-{number}",
                    self.clock.now() + dt.timedelta(minutes=30 * number),
                    last + 1 + (number - 1) * self.probes_per_run - first,
                )
                for number in range(1, run_count)
            ]
        )
        # SQLite names the columns of VALUES in a WITH clause only.
        others = given.cte("others")
        run_id, at, shift = others.c.run_id, others.c.at, others.c["shift"]
        copies: list[tuple[sa.Table, sa.ColumnElement[bool], dict[str, Any]]] = [
            (runs, runs.c.run_id == template, {"run_id": run_id, "started_at": at, "last_seen_at": at, "ended_at": at}),
            (
                probes,
                probes.c.run_id == template,
                {"id": probes.c.id + shift, "run_id": run_id, "remembered_at": at},
            ),
            (
                observations,
                observations.c.probe_id.between(first, first + self.probes_per_run - 1),
                {"probe_id": observations.c.probe_id + shift, "sent_at": at},
            ),
            (
                findings,
                findings.c.run_id == template,
                {"id": None, "probe_id": findings.c.probe_id + shift, "run_id": run_id, "found_at": at},
            ),
        ]
        for table, wanted, changed in copies:
            columns = [column for column in table.c if changed.get(column.name, column) is not None]
            values = [changed.get(column.name, column).label(f"c{i}") for i, column in enumerate(columns)]
            query = (
                sa.select(*values).select_from(table.join(others, sa.true())).where(wanted).order_by(others.c.number)
            )
            await connection.execute(sa.insert(table).from_select(columns, query))
        if connection.dialect.name == "postgresql":
            await connection.execute(sa.text("SELECT setval('probes_id_seq', (SELECT max(id) FROM probes))"))


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What a database holds and takes."""

    rows: int
    file_bytes: int


async def sizes_of(database: Database) -> Sizes:
    """Rows of all tables, and bytes on disk."""
    async with database.read() as connection:
        rows = 0
        for table in metadata.sorted_tables:
            rows += (await connection.execute(sa.select(sa.func.count()).select_from(table))).scalar_one()
        if database.kind == "sqlite":
            page = (await connection.exec_driver_sql("PRAGMA page_size")).scalar_one()
            taken = page * (await connection.exec_driver_sql("PRAGMA page_count")).scalar_one()
        else:
            taken = (
                await connection.execute(sa.select(sa.func.pg_database_size(sa.func.current_database())))
            ).scalar_one()
    return Sizes(rows=rows, file_bytes=taken)
