"""The command line as a whole: turns our own errors into one line and an exit code."""

import sys
from typing import Annotated

import typer

from prober import __version__
from prober.cli.exits import Exit
from prober.cli.terminal import accept_any_encoding, open_console
from prober.cli.verbs import LazyGroup
from prober.domain.errors import ConfigError, ProberError
from prober.telemetry.faults import describe

app = typer.Typer(
    name="prober",
    cls=LazyGroup,
    help="Finds cross-tenant leaks in LLM serving from outside.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _show_version(is_wanted: bool) -> None:  # noqa: FBT001 - the signature of a typer callback
    if is_wanted:
        typer.echo(f"isolation-prober {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Finds cross-tenant leaks in LLM serving from outside."""


def main() -> None:
    """Run the command line; never shows a traceback, since one could hold anything."""
    accept_any_encoding()
    errors = open_console(stderr=True)
    try:
        app()
    except ConfigError as error:
        errors.print(str(error), markup=False, soft_wrap=True)
        sys.exit(Exit.USAGE)
    except ProberError as error:
        errors.print(str(error), markup=False, soft_wrap=True)
        sys.exit(Exit.OWN_FAILURE)
    except KeyboardInterrupt:
        errors.print("interrupted")
        sys.exit(Exit.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the outermost frame: class and own frames only
        facts = describe(error)
        errors.print("internal error, please report it: ", facts, markup=False, soft_wrap=True)
        sys.exit(Exit.OWN_FAILURE)
