"""`prober db`: the ledger's schema."""

import asyncio

import typer

from prober.cli.options import DEFAULT_CONFIG, ConfigFile, load
from prober.store.migrate import upgrade as upgrade_schema

app = typer.Typer(help="Prepare the database.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Prepare the database."""


@app.command()
def upgrade(*, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Bring the configured database to this version's schema. Safe to run at any time, by several at once."""
    asyncio.run(upgrade_schema(load(config).database.reveal()))
    typer.echo("the database is at this version's schema")
