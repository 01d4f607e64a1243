"""Migrations and schema say the same."""

import ast
import asyncio
import os
import sys
from pathlib import Path

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from prober.store.database import Database
from prober.store.migrate import migrations_folder, upgrade
from prober.store.schema import metadata

ROOT = Path(__file__).parents[2]


async def test_migrations_make_the_schema(empty_url: str):
    """Nothing is left to generate on either database: no table, column, type, index or constraint differs."""
    await upgrade(empty_url)
    database = Database(empty_url)

    def differences(connection: sa.Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        return list(compare_metadata(context, metadata))

    try:
        async with database.begin() as connection:
            assert await connection.run_sync(differences) == []
    finally:
        await database.close()


async def test_a_difference_would_be_seen(empty_url: str):
    """The comparison is not blind: a dropped column shows."""
    await upgrade(empty_url)
    database = Database(empty_url)
    try:
        async with database.begin() as connection:
            await connection.execute(sa.text("ALTER TABLE runs DROP COLUMN build"))
        async with database.begin() as connection:
            found = await connection.run_sync(lambda sync: compare_metadata(MigrationContext.configure(sync), metadata))
    finally:
        await database.close()
    assert [difference[0] for difference in found] == ["add_column"]


def test_migrations_stand_on_their_own():
    """A migration imports nothing of the package: it describes the past, which later code must not change."""
    sources = [path.read_text() for path in (migrations_folder() / "versions").glob("*.py")]
    assert sources
    assert not any("prober" in line for source in sources for line in source.splitlines() if "import" in line)


ADDING = frozenset({"create_table", "add_column", "create_index", "f"})


def test_migrations_of_one_thousand_only_add():
    """Replicas of the version before run on the newer schema: nothing they know is dropped, renamed or tightened.

    A revision is four digits that count up; one that takes away begins the next thousand (store/migrate.py).
    """
    revisions = []
    for path in sorted((migrations_folder() / "versions").glob("*.py")):
        tree = ast.parse(path.read_text())
        (upgrade_step,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "upgrade"]
        calls = {
            node.func.attr
            for node in ast.walk(upgrade_step)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "op"
        }
        assert calls <= ADDING, path.name
        revisions.append(path.name[:4])
    assert revisions == [f"{number:04}" for number in range(1, len(revisions) + 1)]


async def test_developers_can_use_alembic_itself(tmp_path: Path):
    """`alembic check` works from the checkout, on the database named in the environment."""
    url = f"sqlite:///{tmp_path / 'dev.db'}"
    await upgrade(url)
    done = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "alembic", "check"),
        cwd=ROOT,
        env=os.environ | {"PROBER_DATABASE_URL": url, "PYTHONPATH": str(ROOT)},
        stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    _, errors = await asyncio.wait_for(done.communicate(), 60)
    assert done.returncode == 0, errors.decode()
