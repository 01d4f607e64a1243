"""Brings a database to the schema of this version."""

import importlib.resources
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from prober.domain.errors import LedgerError
from prober.store.database import Database

_LOCK = 0x70726F626572
"""Key of the advisory lock that makes concurrent upgrades queue: without it PostgreSQL fails all but one."""


def migrations_folder() -> Path:
    """Find the migrations: inside the installed package, else beside it in a checkout.

    Raises:
        LedgerError: they are in neither place.
    """
    package = Path(str(importlib.resources.files("prober")))
    for folder in (package / "_migrations", package.parent / "migrations"):
        if (folder / "env.py").is_file():
            return folder
    raise LedgerError("This installation lacks its database migrations; install it again.")


async def upgrade(url: str, revision: str = "head") -> None:
    """Apply all migrations up to `revision`, all or none; waits for another upgrade under way.

    Raises:
        LedgerError: the database failed, or its revision is unknown to this version.
    """
    await _migrate(url, lambda config: command.upgrade(config, revision))


async def downgrade(url: str, revision: str) -> None:
    """Take migrations back down to `revision` (`base`: to an empty database), all or none.

    Raises:
        LedgerError: as for `upgrade`.
    """
    await _migrate(url, lambda config: command.downgrade(config, revision))


async def is_current(url: str) -> bool:
    """Tell whether the database has the schema of this version.

    Raises:
        LedgerError: the database failed.
    """
    newest = ScriptDirectory(str(migrations_folder())).get_current_head()
    database = Database(url)
    try:
        async with database.read() as connection:
            return await connection.run_sync(_revision) == newest
    finally:
        await database.close()


def _revision(connection: sa.Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


async def _migrate(url: str, step: Callable[[Config], None]) -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    database = Database(url, is_migrating=True)

    def run(connection: sa.Connection) -> None:
        config.attributes["connection"] = connection
        step(config)

    try:
        async with database.begin() as connection:
            if database.kind == "postgresql":
                await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            await connection.run_sync(run)
    except CommandError:
        raise LedgerError("The database was made by another version of the prober; upgrade the prober.") from None
    finally:
        await database.close()
