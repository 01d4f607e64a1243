"""Connections, transactions, and faults in our own words."""

import asyncio
import shutil
import sqlite3
import traceback
from pathlib import Path

import pytest
import sqlalchemy as sa

from prober.config.schedules import ServiceSettings
from prober.domain.errors import LedgerError, LedgerGoneError
from prober.domain.verdict import Spending
from prober.store import database as database_module
from prober.store.database import Database, in_our_words
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from prober.store.schema.runs import probes, runs
from tests.store.conftest import execute
from tests.support.evidence import a_probe, a_prompt
from tests.support.ledger import SettableClock
from tests.support.outages import ReadOnlyFile
from tests.support.reports import DONOR_CANARY, a_run

SECRET = "hunter2-pa55word"
PLANNED = [(a_probe(), a_prompt(canary=DONOR_CANARY))]


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://prober:{SECRET}@host/db",
        f"oracle://prober:{SECRET}@host/db",
        f"no url {SECRET}",
        "",
        f"postgresql://prober:{SECRET}@host:port/db",
        f"nonsense+driver://prober:{SECRET}@host/db",
    ],
)
def test_other_urls_are_refused_without_being_shown(url: str):
    """A URL that cannot be used is answered by the forms that can, never by itself."""
    with pytest.raises(LedgerError, match="sqlite:///FILE or postgresql://") as caught:
        Database(url)
    assert SECRET not in whole(caught.value)


def whole(error: BaseException) -> str:
    """All a log could print of an error, chained ones included."""
    return "".join(traceback.format_exception(error)).replace(f'SECRET = "{SECRET}"', "") + repr(error)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_every_name_of_a_kind_means_the_same_driver(scheme: str):
    """Users write URLs as their platform gives them."""
    database = Database(f"{scheme}://prober:{SECRET}@127.0.0.1/db")
    assert database.kind == "postgresql"
    assert repr(database) == "Database(postgresql)"


async def fails(database: Database, statement: str = "SELECT 1") -> tuple[str, str]:
    """Run a statement that must fail; return all there is to see of the fault."""

    async def run() -> None:
        async with database.begin() as connection:
            await connection.execute(sa.text(statement), {"value": SECRET} if ":value" in statement else {})

    try:
        with pytest.raises(LedgerError) as caught:
            await run()
    finally:
        await database.close()
    return str(caught.value), whole(caught.value)


async def test_an_unreachable_server_is_said_plainly():
    """A closed port is no traceback of drivers, and shows no credential."""
    message, everything = await fails(Database(f"postgresql://prober:{SECRET}@127.0.0.1:1/db"))
    assert "cannot be reached" in message
    assert SECRET not in everything


async def test_a_database_that_is_not_there_is_said_plainly(postgres_server: str):
    """The server answers, the database is missing."""
    message, _ = await fails(Database(postgres_server.rsplit("/", 1)[0] + "/missing"))
    assert "does not exist" in message


async def test_a_folder_that_is_not_there_is_said_plainly(tmp_path: Path):
    """SQLite cannot create a file in a folder that does not exist."""
    message, everything = await fails(Database(f"sqlite:///{tmp_path}/none/ledger.db"))
    assert "cannot be opened" in message
    assert str(tmp_path) not in everything


@pytest.fixture
def other_file(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"something else, and long enough to be read as a header" * 50)
    return path


async def test_a_file_of_something_else_is_said_plainly(other_file: Path):
    """Any other file is named as such."""
    message, _ = await fails(Database(f"sqlite:///{other_file}"))
    assert "no SQLite database" in message


async def test_a_missing_schema_names_its_remedy(empty_url: str):
    """Before `db upgrade`, every use says to run it."""
    message, _ = await fails(Database(empty_url), "SELECT * FROM runs")
    assert "prober db upgrade" in message


async def test_other_faults_show_neither_statement_nor_parameters(empty_url: str):
    """A fault nobody foresaw is named by class, without the SQL and what was bound to it."""
    message, everything = await fails(Database(empty_url), "SELECT nonsense(:value, 'statement')")
    assert "Error" in message
    assert SECRET not in everything
    assert "nonsense(" not in message


async def test_a_locked_file_is_said_plainly(sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A writer that does not let go is named as such, after the time allowed."""
    monkeypatch.setattr(database_module, "BUSY_TIMEOUT_SECONDS", 0.05)
    path = shutil.copy(sqlite_template, tmp_path / "ledger.db")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        message, _ = await fails(Database(f"sqlite:///{path}"))
    finally:
        holder.close()
    assert "locked" in message


async def test_look_ups_do_not_wait_for_a_writer(
    sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A page about findings comes up while a run writes to the file."""
    monkeypatch.setattr(database_module, "BUSY_TIMEOUT_SECONDS", 0.05)
    path = shutil.copy(sqlite_template, tmp_path / "ledger.db")
    database = Database(f"sqlite:///{path}")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert await LedgerLookups(database, SettableClock()).runs() == ()
    finally:
        holder.close()
        await database.close()


async def test_other_exceptions_of_a_transaction_pass_and_roll_it_back(sqlite_database: Database):
    """Only the database's own faults are translated."""

    async def insert_and_fail() -> None:
        async with sqlite_database.begin() as connection:
            await connection.execute(sa.text("INSERT INTO alembic_version VALUES ('x')"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await insert_and_fail()
    async with sqlite_database.begin() as connection:
        assert (await connection.execute(sa.text("SELECT count(*) FROM alembic_version"))).scalar_one() == 1


async def test_what_is_remembered_is_there_for_every_other_process(sqlite_template: Path, tmp_path: Path):
    """Once `remember` returned, another connection to the file finds the canary, whatever happens to this one."""
    path = shutil.copy(sqlite_template, tmp_path / "ledger.db")
    writer = Database(f"sqlite:///{path}")
    ledger = SqlLedger(writer, SettableClock())
    await ledger.open_run(a_run(), Spending())
    await ledger.remember(a_run(), PLANNED)
    reader = Database(f"sqlite:///{path}")
    try:
        assert await LedgerLookups(reader, SettableClock()).whose(DONOR_CANARY) is not None
    finally:
        await reader.close()
        await writer.close()


async def test_concurrent_writers_queue(database: Database):
    """Runs side by side do not fail each other."""
    ledger = SqlLedger(database, SettableClock())

    async def campaign(number: int) -> None:
        run = a_run(run_id=f"run-{number}")
        await ledger.open_run(run, Spending())
        for probe in range(5):
            await ledger.remember(run, [(a_probe(label=f"x/{probe}"), a_prompt())])

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(campaign(number))
    async with database.begin() as connection:
        assert (await connection.execute(sa.select(sa.func.count()).select_from(probes))).scalar_one() == 40


async def test_a_cancelled_write_leaves_nothing_half_done(database: Database):
    """Cancelling a write at any moment leaves the run whole or absent, and the database usable."""
    ledger = SqlLedger(database, SettableClock())
    for turns in range(0, 24, 3):
        run = a_run(run_id=f"run-{turns}")
        task = asyncio.ensure_future(ledger.open_run(run, Spending()))
        for _ in range(turns):
            await asyncio.sleep(0.0005)
        task.cancel()
        await asyncio.wait([task])
    await ledger.open_run(a_run(run_id="after"), Spending())
    async with database.begin() as connection:
        known = set((await connection.execute(sa.select(runs.c.run_id))).scalars())
    assert "after" in known


async def test_a_server_that_dropped_its_connections_is_connected_to_again(
    postgres_database: Database, postgres_server: str
):
    """A database restart between two probes does not end the run."""
    ledger = SqlLedger(postgres_database, SettableClock())
    await ledger.open_run(a_run(), Spending())
    async with postgres_database.read() as connection:
        pid = (await connection.execute(sa.text("SELECT pg_backend_pid()"))).scalar_one()
    await execute(postgres_server, f"SELECT pg_terminate_backend({int(pid)})")
    await ledger.remember(a_run(), PLANNED)


async def test_transactions_see_what_stands_whatever_the_servers_default(postgres_database: Database):
    """Claims, slots and budgets wait for a lock, then read: an older snapshot would show them what is no longer so."""
    async with postgres_database.begin() as connection:
        name = (await connection.execute(sa.select(sa.func.current_database()))).scalar_one()
        await connection.execute(sa.text(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"))
    await postgres_database.close()
    for transaction in (postgres_database.begin, postgres_database.read):
        async with transaction() as connection:
            assert (await connection.execute(sa.text("SHOW transaction_isolation"))).scalar_one() == "read committed"


async def test_a_commit_that_got_no_answer_is_in_doubt(postgres_database: Database, postgres_server: str):
    """Cut before it, nothing stands; cut at it, it may: whoever writes it again must look first."""

    async def insert_and_be_cut(*, before_commit: bool) -> None:
        async with postgres_database.begin() as connection:
            pid = (await connection.execute(sa.text("SELECT pg_backend_pid()"))).scalar_one()
            await execute(postgres_server, f"SELECT pg_terminate_backend({int(pid)})")
            if before_commit:
                await connection.execute(sa.text("SELECT 1"))

    for before_commit in (True, False):
        with pytest.raises(LedgerGoneError) as raised:
            await insert_and_be_cut(before_commit=before_commit)
        assert raised.value.is_in_doubt is not before_commit


async def test_a_connection_opened_on_a_read_only_file_is_not_used_again(sqlite_database: Database, tmp_path: Path):
    """Once the file can be written, so can the database, by the same process."""
    outage = ReadOnlyFile(sqlite_database, tmp_path / "ledger.db")
    ledger = SqlLedger(sqlite_database, SettableClock())
    await outage.begin()
    with pytest.raises(LedgerGoneError, match="takes no writes"):
        await ledger.open_run(a_run(), Spending())
    await outage.end()
    await ledger.open_run(a_run(), Spending())


async def test_deleting_a_run_deletes_all_of_it(database: Database):
    """Retention deletes runs; nothing of theirs is left behind."""
    ledger = SqlLedger(database, SettableClock())
    await ledger.open_run(a_run(), Spending())
    await ledger.remember(a_run(), PLANNED)
    async with database.begin() as connection:
        await connection.execute(sa.delete(runs))
    async with database.begin() as connection:
        assert (await connection.execute(sa.select(sa.func.count()).select_from(probes))).scalar_one() == 0


@pytest.mark.parametrize("text", ["database or disk is full", "disk I/O error"])
def test_a_full_disk_is_said_plainly(text: str):
    """Both are what SQLite says of a full disk, the second one where the write-ahead log cannot grow."""
    with pytest.raises(LedgerError, match="is its disk full"), in_our_words():
        raise sqlite3.OperationalError(text)


async def pause_within(paused: Database, other: Database) -> None:
    """Hold a lock in a transaction for as long as another connection waits for it, then go on."""
    lock = sa.text("SELECT pg_advisory_xact_lock(4711)")
    async with paused.begin() as connection:
        await connection.execute(lock)
        async with asyncio.timeout(30), other.begin() as beside:
            await beside.execute(lock)
        await connection.execute(sa.text("SELECT 1"))


async def test_a_transaction_that_stands_still_is_ended(empty_postgres: str, monkeypatch: pytest.MonkeyPatch):
    """A replica paused in the middle of one would hold its locks against whoever takes its work over."""
    monkeypatch.setattr(database_module, "STANDSTILL_SECONDS", 1)
    paused, other = Database(empty_postgres), Database(empty_postgres)
    try:
        with pytest.raises(LedgerGoneError, match=r"stood still|cut the connection"):
            await pause_within(paused, other)
        async with paused.read() as connection:
            assert (await connection.execute(sa.text("SELECT 1"))).scalar_one() == 1
    finally:
        await paused.close()
        await other.close()


async def test_no_lease_ends_before_a_standstill_does(empty_postgres: str):
    """What takes over waits for a lease at least; by then the locks of the paused are gone."""
    database = Database(empty_postgres)
    async with database.read() as connection:
        shown = (await connection.execute(sa.text("SHOW idle_in_transaction_session_timeout"))).scalar_one()
    await database.close()
    assert shown == f"{database_module.STANDSTILL_SECONDS}s"
    assert ServiceSettings().lease_seconds > database_module.STANDSTILL_SECONDS
