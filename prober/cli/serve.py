"""`prober serve`: the always-on service; `prober stop`: the global stop switch of all its replicas."""

import asyncio
import getpass
import sys
from typing import Annotated

import typer

from prober.cli.options import DEFAULT_CONFIG, ConfigFile, LogFormatOption, LogLevel, LogLevelOption, load
from prober.config.schema import Settings
from prober.store.switches import SwitchBoard
from prober.telemetry.logs import LogFormat, open_log, stdlib_routed
from prober.wiring.campaigns import redactor_for
from prober.wiring.prober import open_current_database
from prober.wiring.system import SystemClock


def serve(
    *, config: ConfigFile = DEFAULT_CONFIG, log_format: LogFormatOption = None, log_level: LogLevelOption = None
) -> None:
    """Run what the schedules and the API ask for, until SIGTERM; SIGHUP reads the configuration anew."""
    # Here, since the web framework takes longer to import than most other verbs run.
    from prober.service.serve import serve as serve_replica  # noqa: PLC0415

    settings = load(config)
    redactor = redactor_for(settings)
    log = open_log(
        sys.stderr,
        form=log_format or LogFormat.JSON,
        redactor=redactor,
        now=SystemClock().now,
        level=(log_level or LogLevel.INFO).number,
    )
    with stdlib_routed(log):
        asyncio.run(serve_replica(config, settings, log=log, redactor=redactor))


def stop(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    undo: Annotated[bool, typer.Option("--undo", help="Let probing go on.")] = False,
) -> None:
    """End all probing of all replicas: nothing is claimed any more, and runs end at their next wave."""
    asyncio.run(_throw(load(config), undo=undo))
    typer.echo("probing goes on" if undo else "all probing is stopped; runs under way end at their next wave")


async def _throw(settings: Settings, *, undo: bool) -> None:
    async with open_current_database(settings) as database:
        board = SwitchBoard(database, SystemClock())
        if undo:
            await board.go_on()
        else:
            await board.stop(f"{_login()} at the command line")


def _login() -> str:
    """Name the user at the terminal; a container's may have a number only, and stops all the same."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown login"
