"""Brings a database to the schema of this version."""

import asyncio
import importlib.resources
import re
import weakref
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


_REVISION = re.compile(r"[0-9]{4}")

_TURNS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()


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

    A newer version's schema that this version can work with is left as it is.

    Raises:
        LedgerError: the database failed, or its revision is unknown to this version.
    """
    await _migrate(url, lambda config: command.upgrade(config, revision), is_upgrade=revision == "head")


async def downgrade(url: str, revision: str) -> None:
    """Take migrations back down to `revision` (`base`: to an empty database), all or none.

    Raises:
        LedgerError: as for `upgrade`.
    """
    await _migrate(url, lambda config: command.downgrade(config, revision))


async def is_current(url: str) -> bool:
    """Tell whether this version can work on the database: its schema is this version's, or that plus additions.

    Raises:
        LedgerError: the database failed.
    """
    database = Database(url)
    try:
        async with database.read() as connection:
            found = await connection.run_sync(_revision)
    finally:
        await database.close()
    newest = _newest()
    return found == newest or _only_adds(found, newest)


def _newest() -> str:
    return str(ScriptDirectory(str(migrations_folder())).get_current_head())


def _only_adds(found: str | None, newest: str) -> bool:
    """Tell whether a revision lies ahead of ours by additions alone, so that versions run side by side.

    Revisions are four digits that count up. Within one thousand each adds what older versions need not know; one that
    takes away or renames begins the next thousand.
    """
    is_number = found is not None and _REVISION.fullmatch(found) is not None
    return is_number and str(found)[0] == newest[0] and str(found) > newest


def _turn() -> asyncio.Lock:
    """Alembic keeps the migration under way in a module: of two in one process the second would end the first."""
    return _TURNS.setdefault(asyncio.get_running_loop(), asyncio.Lock())


def _revision(connection: sa.Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


async def _migrate(url: str, step: Callable[[Config], None], *, is_upgrade: bool = False) -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    database = Database(url, is_migrating=True)

    def run(connection: sa.Connection) -> None:
        if is_upgrade and _only_adds(_revision(connection), _newest()):
            return
        config.attributes["connection"] = connection
        step(config)

    try:
        async with _turn(), database.begin() as connection:
            if database.kind == "postgresql":
                await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            await connection.run_sync(run)
    except CommandError:
        raise LedgerError("The database was made by another version of the prober; upgrade the prober.") from None
    finally:
        await database.close()
