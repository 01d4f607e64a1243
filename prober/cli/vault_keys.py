"""`prober vault key`: the vault keyring's file."""

import pathlib
from typing import Annotated

import typer

from prober.config.vault_keyring_file import create_vault_keyring, drop_vault_key, rotate_vault_keyring

app = typer.Typer(help="Create and rotate the vault key.", no_args_is_help=True)
KeyFile = Annotated[pathlib.Path, typer.Argument(metavar="FILE", help="The vault's key file.")]


@app.command()
def new(file: KeyFile) -> None:
    """Draw a new vault key. Refuses to overwrite: losing a key means losing all text under it."""
    keyring = create_vault_keyring(file)
    typer.echo(f"{file}: vault key {keyring.current}; for those alone who may read customers' text")


@app.command()
def rotate(file: KeyFile) -> None:
    """Put a new key in force; text under older ones can still be read, and `prober vault rotate` encrypts it anew."""
    keyring = rotate_vault_keyring(file)
    typer.echo(f"{file}: vault key {keyring.current}, {len(keyring.keys)} on the ring; next: prober vault rotate")


@app.command()
def drop(
    file: KeyFile, key_id: Annotated[str, typer.Argument(metavar="ID", help="Of an older key, 16 hex digits.")]
) -> None:
    """Take an older key off the ring, for good: text that is still under it, in backups too, is lost."""
    keyring = drop_vault_key(file, key_id)
    typer.echo(f"{file}: vault key {keyring.current}, {len(keyring.keys)} on the ring")
