"""`prober key`: the canary keyring's file."""

import pathlib
from typing import Annotated

import typer

from prober.config.keyring_file import create_keyring, rotate_keyring

app = typer.Typer(help="Create and rotate the canary key.", no_args_is_help=True)
KeyFile = Annotated[pathlib.Path, typer.Argument(metavar="FILE", help="The key file.")]


@app.command()
def new(file: KeyFile) -> None:
    """Draw a new canary key. Refuses to overwrite: losing a key means losing all canaries sent under it."""
    keyring = create_keyring(file)
    typer.echo(f"{file}: canary key {keyring.fingerprint()}, epoch {keyring.current_epoch}; for your instances alone")


@app.command()
def rotate(file: KeyFile) -> None:
    """Put a new key in force; canaries under the old ones stay decodable."""
    keyring = rotate_keyring(file)
    typer.echo(f"{file}: canary key {keyring.fingerprint()}, epoch {keyring.current_epoch}; hand it to every instance")
