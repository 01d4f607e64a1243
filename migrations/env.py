"""Alembic's entry: runs migrations on the connection it is handed, or, for `alembic revision`, on its own."""

import asyncio
import os

import sqlalchemy as sa
from alembic import context

from prober.store.database import Database
from prober.store.schema import metadata


def migrate(connection: sa.Connection) -> None:
    """Run what the command asks for, inside the connection's own transaction."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        transactional_ddl=True,
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


async def migrate_own() -> None:
    """Connect to the developer's database in PROBER_DATABASE_URL."""
    database = Database(os.environ["PROBER_DATABASE_URL"], is_migrating=True)
    try:
        async with database.begin() as connection:
            await connection.run_sync(migrate)
    finally:
        await database.close()


handed = context.config.attributes.get("connection")
if handed is None:
    asyncio.run(migrate_own())
else:
    migrate(handed)
