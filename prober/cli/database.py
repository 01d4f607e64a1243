"""`prober db`: the ledger's schema, copies and size."""

import asyncio
import pathlib
from typing import Annotated

import typer

from prober.cli.options import DEFAULT_CONFIG, ConfigFile, load
from prober.config.schema import Settings
from prober.store.backup import back_up
from prober.store.backup import restore as put_back
from prober.store.migrate import upgrade as upgrade_schema
from prober.store.retention import Pruning
from prober.wiring.retention import MEBIBYTE, open_retention

app = typer.Typer(help="Prepare, prune and copy the database.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Prepare, prune and copy the database."""


@app.command()
def upgrade(*, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Bring the configured database to this version's schema. Safe to run at any time, by several at once."""
    asyncio.run(upgrade_schema(load(config).database.reveal()))
    typer.echo("the database is at this version's schema")


@app.command()
def prune(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what is too old; delete nothing.")] = False,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Delete what is older than `retention` allows, then the oldest of what is too much. Runs may go on meanwhile."""
    done = asyncio.run(_prune(load(config), dry_run))
    for kind, rows in done.rows.items():
        typer.echo(f"{kind.value}: {rows:,} {'to delete' if dry_run else 'deleted'}")
    typer.echo(f"size: {done.bytes_before / MEBIBYTE:.1f} MiB, then {done.bytes_after / MEBIBYTE:.1f} MiB")
    if done.is_above_cap:
        typer.echo("the database is larger than retention.max_mebibytes" + ("" if dry_run else _HELD), err=True)


_HELD = ", and what is left is held by running runs and unsettled issues: settle these, or allow more"


@app.command()
def backup(
    file: Annotated[pathlib.Path, typer.Argument(metavar="FILE", help="The copy; must not exist yet.")],
    *,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Copy a SQLite database as it stands, whole and compact, while runs go on. PostgreSQL: `pg_dump`."""
    asyncio.run(back_up(load(config).database.reveal(), file))
    typer.echo(f"{file}: a copy of the database; the key files are not in it")


@app.command()
def restore(
    file: Annotated[pathlib.Path, typer.Argument(metavar="FILE", help="A copy made by `prober db backup`.")],
    *,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Put a copy in the place of the SQLite database, which nothing may have open. PostgreSQL: `pg_restore`."""
    asyncio.run(put_back(load(config).database.reveal(), file))
    typer.echo(f"the database is that of {file}; next: prober db upgrade")


async def _prune(settings: Settings, is_dry: bool) -> Pruning:  # noqa: FBT001 - one command's own
    async with open_retention(settings) as retention:
        return await retention.rehearse() if is_dry else await retention.prune()
