"""Paused processes hold no locks: their sessions are ended by whoever takes their work over."""

import sqlalchemy as sa

from prober.store.database import STANDSTILL_SECONDS, Database

_END_PAUSED = sa.text(
    """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
      AND wait_event = 'ClientRead'
      AND xact_start < now() - make_interval(secs => :seconds)
      AND state_change < now() - make_interval(secs => :seconds)
    """
)
"""Sessions that are in a transaction, and whose client has said nothing for so long.

`idle_in_transaction_session_timeout` ends most of them; not one that was paused between two messages of one statement
(Parse sent, Bind not yet): that counts as active, and no time-out before PostgreSQL 17 ends it. A backup's session
reads or writes, or has said something lately.
"""


async def end_standstills(database: Database, seconds: float = STANDSTILL_SECONDS) -> int:
    """End sessions of our role, in this database, that stand still within a transaction; returns how many did.

    Raises:
        LedgerError: the database could not be asked.
    """
    if database.kind != "postgresql":
        return 0
    async with database.read() as connection:
        return int((await connection.execute(_END_PAUSED, {"seconds": seconds})).scalar_one())
