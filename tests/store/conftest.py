"""Databases with the current schema, one per test: a SQLite file, and a database on a real PostgreSQL server."""

import asyncio
import itertools
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from prober.store.database import Database
from prober.store.ledger import SqlLedger
from prober.store.lookups import LedgerLookups
from prober.store.migrate import upgrade
from tests.support.ledger import MemoryLedger, SettableClock
from tests.support.postgres import postgres_server
from tests.support.stored import Ledgers

__all__ = ["postgres_server"]

_serial = (f"{os.getpid()}_{number}" for number in itertools.count())


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a migrated SQLite file to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    asyncio.run(upgrade(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> Iterator[tuple[str, str]]:
    """Server URL and name of a migrated database to copy."""
    name = f"prober_template_{next(_serial)}"
    asyncio.run(execute(postgres_server, f"CREATE DATABASE {name}"))
    asyncio.run(upgrade(sibling(postgres_server, name)))
    yield postgres_server, name
    asyncio.run(execute(postgres_server, f"DROP DATABASE {name}"))


@pytest.fixture
def empty_postgres(postgres_server: str) -> Iterator[str]:
    """URL of an empty PostgreSQL database."""
    name = f"prober_empty_{next(_serial)}"
    asyncio.run(execute(postgres_server, f"CREATE DATABASE {name}"))
    yield sibling(postgres_server, name)
    asyncio.run(execute(postgres_server, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    return str(request.getfixturevalue("empty_postgres"))


@pytest.fixture
async def sqlite_database(sqlite_template: Path, tmp_path: Path) -> AsyncIterator[Database]:
    shutil.copy(sqlite_template, tmp_path / "ledger.db")
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    yield database
    await database.close()


@pytest.fixture
async def postgres_database(postgres_template: tuple[str, str]) -> AsyncIterator[Database]:
    server, template = postgres_template
    name = f"prober_test_{next(_serial)}"
    await execute(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    database = Database(sibling(server, name))
    yield database
    await database.close()
    await execute(server, f"DROP DATABASE {name} WITH (FORCE)")


async def execute(server: str, statement: str) -> None:
    """Run one statement outside any transaction."""
    connection = await asyncpg.connect(server)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def sibling(server: str, name: str) -> str:
    """URL of another database on the same server."""
    return f"{server.rsplit('/', 1)[0]}/{name}"


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def ledgers(request: pytest.FixtureRequest, clock: SettableClock) -> Ledgers:
    if request.param == "memory":
        memory = MemoryLedger(clock)
        return Ledgers(memory, memory)
    kind = "postgres" if request.param == "postgresql" else request.param
    database = request.getfixturevalue(f"{kind}_database")
    return Ledgers(SqlLedger(database, clock), LedgerLookups(database, clock))


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    return request.getfixturevalue(f"{request.param}_database")
