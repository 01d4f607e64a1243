"""How large a database is, and how a file shrinks."""

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from prober.store.database import Database
from prober.store.migrate import upgrade
from prober.store.schema.runs import runs
from prober.store.sizes import SPARE_SHARE, give_back, live_bytes
from tests.support.ledger import SettableClock
from tests.support.year import Year, sizes_of


async def test_what_is_deleted_does_not_count(database: Database, clock: SettableClock):
    """The size follows the rows at once, though files of PostgreSQL do not: else retention would delete for ever."""
    empty = await live_bytes(database)
    await Year(database, clock, probes_per_run=10).pass_days(4)
    full = await live_bytes(database)
    async with database.begin() as connection:
        await connection.execute(sa.delete(runs))
    emptied = await live_bytes(database)

    assert full - empty > 1_000_000
    assert emptied - empty < 0.1 * (full - empty)


async def test_what_is_reckoned_is_near_what_is_taken(database: Database, clock: SettableClock):
    """On a freshly filled database, size and bytes on disk agree within a third, empty tables' share aside."""
    before, taken_before = await live_bytes(database), (await sizes_of(database)).file_bytes
    await Year(database, clock, probes_per_run=10).pass_days(20)
    grown = await live_bytes(database) - before
    taken = (await sizes_of(database)).file_bytes - taken_before

    assert 0.67 < grown / taken < 1.5, (grown, taken)


async def test_a_new_sqlite_file_shrinks(sqlite_database: Database, clock: SettableClock, tmp_path: Path):
    """Deleted rows' pages go back to the file system, but for a tenth; what is left stays whole."""
    await Year(sqlite_database, clock, probes_per_run=10).pass_days(8)
    full = (await sizes_of(sqlite_database)).file_bytes
    async with sqlite_database.begin() as connection:
        await connection.execute(sa.delete(runs).where(runs.c.run_id != "run-0"))
    given = await give_back(sqlite_database)
    after = (await sizes_of(sqlite_database)).file_bytes

    assert given > 500
    # Each thousand pages need one of bookkeeping, which goes with them.
    assert 0 <= full - given * 4096 - after <= 2 * 4096
    assert after < 0.4 * full
    async with sqlite_database.read() as connection:
        free = (await connection.exec_driver_sql("PRAGMA freelist_count")).scalar_one()
        assert free <= SPARE_SHARE * (after + given * 4096) / 4096
        assert (await connection.exec_driver_sql("PRAGMA integrity_check")).scalar_one() == "ok"
        assert (await connection.execute(sa.select(runs.c.run_id))).scalars().all() == ["run-0"]
    assert await give_back(sqlite_database) == 0
    await sqlite_database.close()
    assert (tmp_path / "ledger.db").stat().st_size == after


@pytest.fixture
async def old_file(tmp_path: Path) -> str:
    """A ledger whose file was made without auto-vacuum."""
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE filler (content)")
    connection.execute("INSERT INTO filler SELECT zeroblob(4000) FROM pragma_function_list LIMIT 100")
    connection.commit()
    connection.close()
    await upgrade(f"sqlite:///{path}")
    return f"sqlite:///{path}"


async def test_an_old_sqlite_file_is_left_as_it_is(old_file: str):
    """It cannot shrink; its empty pages do not count, and are filled first."""
    database = Database(old_file)
    full = await live_bytes(database)
    async with database.begin() as connection:
        await connection.execute(sa.text("DELETE FROM filler"))

    assert await give_back(database) == 0
    assert full - await live_bytes(database) > 300_000
    await database.close()


async def test_postgresql_makes_room_by_itself(postgres_database: Database):
    """There is nothing to give back by hand."""
    assert await give_back(postgres_database) == 0
