"""Rows that the service's self-test leaves: apart from the users' own, and gone when it ends."""

import dataclasses
import datetime as dt

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.domain.self_test import PREFIX
from prober.store.database import Database
from prober.store.schema.issues import issues, notices, receivers
from prober.store.schema.runs import runs

STALE_AFTER = dt.timedelta(hours=1)
"""A self-test that began so long ago was killed: it takes two minutes at most."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How the notices of one self-test fared."""

    sent: int
    pending: int
    failed: int
    last_answer: str
    """Of a notice that was not taken, in our words."""


def is_of_users(name: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """Leave self-tests out; `name` is a column of targets or receivers."""
    return ~name.startswith(PREFIX, autoescape=True)


async def told(database: Database, name: str) -> Told:
    """Tell how the notices of the self-test of this name fared.

    Raises:
        LedgerError: the database failed.
    """
    query = (
        sa.select(notices.c.sent_at, notices.c.failed_at, notices.c.last_answer)
        .where(notices.c.receiver == name)
        .order_by(notices.c.id)
    )
    async with database.read() as connection:
        rows = (await connection.execute(query)).all()
    untaken = [row for row in rows if row.sent_at is None]
    failed = sum(row.failed_at is not None for row in untaken)
    return Told(
        sent=len(rows) - len(untaken),
        pending=len(untaken) - failed,
        failed=failed,
        last_answer=untaken[-1].last_answer if untaken else "",
    )


async def forget(database: Database, name: str) -> None:
    """Delete all rows of the self-test of this name.

    Raises:
        LedgerError: the database failed.
    """
    async with database.begin() as connection:
        await _delete(
            connection,
            runs.c.target == name,
            issues.c.target == name,
            notices.c.receiver == name,
            receivers.c.name == name,
        )


async def forget_stale(database: Database, now: dt.datetime) -> None:
    """Delete what self-tests left that were killed, by whichever replica; those that go on are left alone.

    Raises:
        LedgerError: the database failed.
    """
    before = now - STALE_AFTER
    is_idle = sa.or_(receivers.c.lease_until.is_(None), receivers.c.lease_until < before)
    async with database.begin() as connection:
        await _delete(
            connection,
            runs.c.target.startswith(PREFIX, autoescape=True) & (runs.c.started_at < before),
            issues.c.target.startswith(PREFIX, autoescape=True) & (issues.c.last_seen < before),
            notices.c.receiver.startswith(PREFIX, autoescape=True) & (notices.c.created_at < before),
            receivers.c.name.startswith(PREFIX, autoescape=True) & is_idle,
        )


async def _delete(connection: AsyncConnection, *conditions: sa.ColumnElement[bool]) -> None:
    """Delete runs, issues, notices and receivers, in this order; what hangs on them goes with them."""
    for table, condition in zip((runs, issues, notices, receivers), conditions, strict=True):
        await connection.execute(sa.delete(table).where(condition))
