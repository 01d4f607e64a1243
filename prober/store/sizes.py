"""How large the database is, deleted rows left out; and how a SQLite file gives space back."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from prober.store.database import Database
from prober.store.schema import metadata

SAMPLE_ROWS = 500
HEAP_BYTES = 28
"""Beside a row's columns: its header of 24 bytes and a line pointer of 4 (PostgreSQL documentation, 73.6)."""
INDEX_BYTES = 48
"""Of one row in one index, measured on this schema's mix of numbers, dates and names."""

GIVEN_BACK_PAGES = 1_000
"""Pages of one transaction: 4 MB."""
SPARE_SHARE = 0.1
"""Of the file may stay empty: what is deleted today is written again tomorrow."""


async def live_bytes(database: Database) -> int:
    """Size of what is stored, in bytes.

    SQLite counts pages in use. PostgreSQL's files do not shrink by deleting, so there it is reckoned from the number of
    rows and the mean of some of them.
    """
    async with database.read() as connection:
        if database.kind == "sqlite":
            page, used, free = await _pages(connection)
            return page * (used - free)
        return sum([await _table_bytes(connection, table) for table in metadata.sorted_tables])


async def give_back(database: Database) -> int:
    """Shrink a SQLite file in bounded steps until no more than `SPARE_SHARE` of it is empty; return pages given back.

    PostgreSQL's autovacuum makes space for new rows there. So does a SQLite file made without auto-vacuum: it keeps its
    size and fills its empty pages first; a backup of it (`prober db backup`) is compact, and can shrink.
    """
    if database.kind != "sqlite":
        return 0
    given = 0
    while True:
        async with database.begin() as connection:
            _, used, free = await _pages(connection)
            mode = (await connection.exec_driver_sql("PRAGMA auto_vacuum")).scalar_one()
            surplus = free - int(SPARE_SHARE * used)
            if surplus <= 0 or mode != _INCREMENTAL:
                return given
            step = min(GIVEN_BACK_PAGES, surplus)
            await _vacuum(connection, step)
            given += step


_INCREMENTAL = 2


async def _vacuum(connection: AsyncConnection, pages: int) -> None:
    """Give pages back, in a transaction of its own that ends the one under way.

    The statement gives one page a step, and has no columns: the driver takes but the first step of it, unless as a
    script.
    """
    driver = (await connection.get_raw_connection()).driver_connection
    if driver is not None:
        await driver.executescript(f"PRAGMA incremental_vacuum({pages})")


async def _pages(connection: AsyncConnection) -> tuple[int, int, int]:
    """Bytes of a page, pages, and those of them that are empty."""
    page, used, free = [
        int((await connection.exec_driver_sql(f"PRAGMA {name}")).scalar_one())
        for name in ("page_size", "page_count", "freelist_count")
    ]
    return page, used, free


async def _table_bytes(connection: AsyncConnection, table: sa.Table) -> int:
    rows = int((await connection.execute(sa.select(sa.func.count()).select_from(table))).scalar_one())
    sample = sa.select(table).limit(SAMPLE_ROWS).subquery("sample")
    mean = sa.select(sa.func.avg(sa.func.pg_column_size(sa.literal_column("sample.*")))).select_from(sample)
    columns = float((await connection.execute(mean)).scalar_one() or 0)
    return int(rows * (columns + HEAP_BYTES + INDEX_BYTES * (len(table.indexes) + 1)))
