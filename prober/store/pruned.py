"""How far back rows were pruned: what a look-up does not find may have been there."""

import datetime as dt

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.store.schema.vault import Pruned, pruned


async def write_down(
    connection: AsyncConnection, kind: Pruned, *, rows: int, newest: dt.datetime, now: dt.datetime
) -> None:
    """Say, in the transaction that deletes them, that rows are gone; `newest` is the youngest one's date."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    empty = {"kind": kind, "before": newest, "rows": 0, "at": now}
    await connection.execute(dialect.insert(pruned).values(empty).on_conflict_do_nothing())
    before = sa.case((pruned.c.before < newest, sa.literal(newest, pruned.c.before.type)), else_=pruned.c.before)
    values = {"before": before, "rows": pruned.c.rows + rows, "at": now}
    await connection.execute(sa.update(pruned).where(pruned.c.kind == kind).values(values))


async def pruned_before(connection: AsyncConnection, kind: Pruned) -> dt.datetime | None:
    """Date up to which rows of a kind may be gone; None: none was ever pruned."""
    found = await connection.execute(sa.select(pruned.c.before).where(pruned.c.kind == kind))
    return found.scalar_one_or_none()
