"""Copies of a SQLite ledger."""

import asyncio
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from prober.domain.errors import LedgerError
from prober.store import backup
from prober.store.backup import back_up, ledger_file, restore
from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from tests.support.ledger import SettableClock
from tests.support.reports import a_run
from tests.support.stored import ESTIMATE


@pytest.fixture
def place(sqlite_template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sqlite_template, tmp_path / "ledger.db"))


def url_of(path: Path) -> str:
    return f"sqlite+aiosqlite:///{path}"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def known(path: Path) -> set[str]:
    database = Database(url_of(path))
    try:
        return {run.run_id for run in await LedgerLookups(database, SettableClock()).runs()}
    finally:
        await database.close()


async def store(path: Path, *run_ids: str) -> None:
    database = Database(url_of(path))
    for run_id in run_ids:
        await SqlLedger(database, SettableClock()).open_run(a_run(run_id=run_id), ESTIMATE)
    await database.close()


async def test_a_copy_brings_everything_back(place: Path, tmp_path: Path):
    """What was there at the copy is there after the restore; what came later is not."""
    await store(place, "before")
    await back_up(url_of(place), tmp_path / "copy.db")
    await store(place, "after")
    await restore(url_of(place), tmp_path / "copy.db")

    assert await known(place) == {"before"}
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) <= {"ledger.db", "copy.db", "ledger.db-wal", "ledger.db-shm"}
    await store(place, "again")


async def test_a_copy_is_whole_while_runs_write(place: Path, tmp_path: Path):
    """Rows committed before the copy began are in it, the newest ones in the log included; writers go on."""
    database = Database(url_of(place))
    ledger = SqlLedger(database, SettableClock())
    await ledger.open_run(a_run(run_id="committed"), ESTIMATE)

    async def write() -> None:
        for number in range(30):
            await ledger.open_run(a_run(run_id=f"run-{number}"), ESTIMATE)

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        group.create_task(back_up(url_of(place), tmp_path / "copy.db"))
    await database.close()

    assert "committed" in await known(tmp_path / "copy.db")
    assert len(await known(place)) == 31


async def test_a_restored_file_can_shrink(place: Path, tmp_path: Path):
    """A file from before auto-vacuum gains it by a copy and its restore."""
    with sqlite3.connect(place) as connection:
        connection.execute("PRAGMA auto_vacuum=NONE")
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("VACUUM")
        assert connection.execute("PRAGMA auto_vacuum").fetchone() == (0,)
    connection.close()
    await back_up(url_of(place), tmp_path / "copy.db")
    await restore(url_of(place), tmp_path / "copy.db")
    connection = sqlite3.connect(place)

    assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


async def test_a_database_in_use_is_not_replaced(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A process that has it open would go on writing to a file that is gone: the restore waits, then refuses."""
    monkeypatch.setattr("prober.store.backup.WAIT_SECONDS", 0.2)
    await store(place, "before")
    await back_up(url_of(place), tmp_path / "copy.db")
    database = Database(url_of(place))
    async with database.read() as connection:
        await connection.exec_driver_sql("SELECT count(*) FROM runs")
        with pytest.raises(LedgerError, match=r"in use|locked"):
            await restore(url_of(place), tmp_path / "copy.db")
    await database.close()

    assert await known(place) == {"before"}
    assert not {name for name in names(tmp_path) if name.startswith(".")}


async def test_a_copy_is_never_overwritten(place: Path, tmp_path: Path):
    """Yesterday's copy may be the only good one."""
    (tmp_path / "copy.db").write_text("yesterday")

    with pytest.raises(LedgerError, match="exists already"):
        await back_up(url_of(place), tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "yesterday"


@pytest.mark.parametrize("content", [b"", b"something else, long enough to be read as a header" * 50, None])
async def test_what_is_no_ledger_is_not_put_in_place(place: Path, tmp_path: Path, content: bytes | None):
    """An empty, foreign, damaged or missing copy leaves the database as it was."""
    await store(place, "before")
    copy = tmp_path / "copy.db"
    if content is not None:
        copy.write_bytes(content)

    with pytest.raises(LedgerError):
        await restore(url_of(place), copy)
    assert await known(place) == {"before"}
    assert not {name for name in names(tmp_path) if name.startswith(".")}


async def test_a_damaged_copy_is_not_put_in_place(place: Path, tmp_path: Path):
    """Pages that were overwritten are found before they replace good ones."""
    await store(place, *(f"run-{number}" for number in range(50)))
    await back_up(url_of(place), tmp_path / "copy.db")
    content = bytearray((tmp_path / "copy.db").read_bytes())
    for page in range(2, len(content) // 4096, 2):
        content[page * 4096 : page * 4096 + 64] = bytes(64)
    (tmp_path / "copy.db").write_bytes(content)

    with pytest.raises(LedgerError):
        await restore(url_of(place), tmp_path / "copy.db")
    assert len(await known(place)) == 50


async def test_a_missing_database_cannot_be_copied_but_restored(place: Path, tmp_path: Path):
    """After a lost disk there is nothing to replace; and nothing that would make an empty file and call it a copy."""
    await store(place, "before")
    await back_up(url_of(place), tmp_path / "copy.db")
    for name in names(tmp_path) - {"copy.db"}:
        (tmp_path / name).unlink()
    with pytest.raises(LedgerError, match="no such database file"):
        await back_up(url_of(place), tmp_path / "second.db")
    assert not (tmp_path / "second.db").exists()
    await restore(url_of(place), tmp_path / "copy.db")

    assert await known(place) == {"before"}


@pytest.mark.parametrize("url", ["postgresql://prober:hunter2@db/prober", "sqlite://", "sqlite:///:memory:"])
def test_other_databases_are_sent_to_their_own_tools(url: str):
    """The message names them, and no password."""
    with pytest.raises(LedgerError, match=r"pg_dump|in memory") as caught:
        ledger_file(url)
    assert "hunter2" not in str(caught.value)


def overwrite(path: Path, damage: bytes) -> None:
    with path.open("r+b") as file:
        file.write(damage)


def begins_with(path: Path, damage: bytes) -> bool:
    return path.read_bytes().startswith(damage)


@pytest.mark.parametrize("damage", [bytes(100), b"no database" * 20], ids=["zeros", "words"])
async def test_a_damaged_database_is_left_for_people_to_move_away(place: Path, tmp_path: Path, damage: bytes):
    """It may hold what can still be saved: the message says which file it is and what to do; then a restore works."""
    await store(place, "before")
    await back_up(url_of(place), tmp_path / "copy.db")
    overwrite(place, damage)
    with pytest.raises(LedgerError, match="in the database's place is damaged"):
        await restore(url_of(place), tmp_path / "copy.db")
    assert begins_with(place, damage)
    assert not {name for name in names(tmp_path) if name.startswith(".")}

    shutil.move(place, tmp_path / "damaged.db")
    await restore(url_of(place), tmp_path / "copy.db")
    assert await known(place) == {"before"}


async def test_a_copy_survives_a_power_failure(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its content is on the disk before its name is, and its name before the command says that it is there."""
    steps: list[tuple[str, bool]] = []
    sync = os.fsync

    def watched(descriptor: int) -> None:
        synced = Path(f"/proc/self/fd/{descriptor}").readlink()
        steps.append(("folder" if synced == tmp_path else "content", (tmp_path / "copy.db").exists()))
        sync(descriptor)

    monkeypatch.setattr(backup.os, "fsync", watched)
    await back_up(url_of(place), tmp_path / "copy.db")

    assert steps == [("content", False), ("folder", True)]
