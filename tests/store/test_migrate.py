"""Bringing databases to the current schema."""

import asyncio
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from prober.domain.errors import LedgerError
from prober.store import migrate
from prober.store.database import Database
from prober.store.migrate import downgrade, is_current, migrations_folder, upgrade


async def tables(url: str) -> set[str]:
    database = Database(url)
    try:
        async with database.begin() as connection:
            return set(await connection.run_sync(lambda sync: sa.inspect(sync).get_table_names()))
    finally:
        await database.close()


async def test_upgrade_and_downgrade_and_upgrade(empty_url: str):
    """From nothing to the schema, back to nothing, and up again; an upgrade twice changes nothing."""
    assert not await is_current(empty_url)
    await upgrade(empty_url)
    await upgrade(empty_url)
    assert await is_current(empty_url)
    assert await tables(empty_url) >= {"runs", "probes", "observations", "findings", "sightings"}
    await downgrade(empty_url, "base")
    assert not await is_current(empty_url)
    assert await tables(empty_url) <= {"alembic_version"}
    await upgrade(empty_url)
    assert await is_current(empty_url)


async def test_concurrent_upgrades_queue(empty_url: str):
    """Replicas that start together all come up."""
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(upgrade(empty_url))
    assert await is_current(empty_url)


@pytest.fixture
def broken_migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second migration that fails half-way."""
    folder = tmp_path / "migrations"
    shutil.copytree(migrations_folder(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "9999_broken.py").write_text(
        "import sqlalchemy as sa\n"
        "from alembic import op\n"
        "revision, down_revision = '9999', '0001'\n"
        "def upgrade():\n"
        "    op.create_table('half', sa.Column('id', sa.Integer))\n"
        "    op.execute('INSERT INTO missing VALUES (1)')\n"
    )
    monkeypatch.setattr(migrate, "migrations_folder", lambda: folder)


async def test_a_failed_upgrade_leaves_nothing(empty_url: str, broken_migrations: None):
    """All migrations or none: after a failure the database is as empty as before."""
    with pytest.raises(LedgerError):
        await upgrade(empty_url)
    assert await tables(empty_url) == set()


async def stamp(url: str, revision: str) -> None:
    database = Database(url)
    async with database.begin() as connection:
        await connection.execute(sa.text("UPDATE alembic_version SET version_num = :to"), {"to": revision})
    await database.close()


@pytest.mark.parametrize("revision", ["f00d", "1000", "0999x"])
async def test_a_database_of_a_newer_version_is_refused(empty_url: str, revision: str):
    """A revision this version has never heard of is not guessed at; nor is one that begins another thousand."""
    await upgrade(empty_url)
    await stamp(empty_url, revision)
    assert not await is_current(empty_url)
    with pytest.raises(LedgerError, match="another version"):
        await upgrade(empty_url)


async def test_a_newer_schema_that_only_adds_is_worked_on_and_left_alone(empty_url: str):
    """Version N-1 runs beside N during an upgrade, and its own upgrade changes nothing; an older one is refused."""
    await upgrade(empty_url)
    before = await tables(empty_url)
    await stamp(empty_url, "0999")
    assert await is_current(empty_url)
    await upgrade(empty_url)
    assert await is_current(empty_url)
    assert await tables(empty_url) == before

    await stamp(empty_url, "0001")
    assert not await is_current(empty_url)


async def test_four_processes_upgrade_at_once(empty_url: str):
    """Replicas of one deployment that start together: each ends well, and the schema is there once."""
    code = "import asyncio, sys; from prober.store.migrate import upgrade; asyncio.run(upgrade(sys.argv[1]))"
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", code, empty_url), stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        for _ in range(4)
    ]
    said = [(await asyncio.wait_for(process.communicate(), 120))[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, said
    assert await is_current(empty_url)


def test_migrations_are_found_where_a_wheel_puts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Inside the package first, beside it in a checkout, and a broken installation says so."""
    package = tmp_path / "prober"
    monkeypatch.setattr(migrate.importlib.resources, "files", lambda _: package)
    with pytest.raises(LedgerError, match="lacks its database migrations"):
        migrations_folder()
    beside, inside = tmp_path / "migrations", package / "_migrations"
    for folder in (beside, inside):
        folder.mkdir(parents=True)
        (folder / "env.py").touch()
        assert migrations_folder() == folder


def test_a_sqlite_file_is_shared_between_readers_and_a_writer(sqlite_template: Path):
    """The file is in write-ahead mode, which survives in the file itself."""
    connection = sqlite3.connect(sqlite_template)
    try:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    finally:
        connection.close()


async def test_upgrades_of_several_databases_in_one_process_do_not_disturb_each_other(tmp_path: Path):
    """Alembic holds one migration at a time; the others wait for it."""
    urls = [f"sqlite:///{tmp_path / f'{number}.db'}" for number in range(4)]
    async with asyncio.TaskGroup() as group:
        for url in urls:
            group.create_task(upgrade(url))

    assert [await is_current(url) for url in urls] == [True] * 4
