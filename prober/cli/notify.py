"""`prober notify`: who is told about issues, and whether they can be reached."""

import asyncio
import random
import socket
from typing import Annotated

import typer

from prober.cli.exits import Exit
from prober.cli.options import DEFAULT_CONFIG, ConfigFile, LogFormatOption, LogLevelOption, load, log_for
from prober.cli.terminal import open_console
from prober.config.schema import Settings
from prober.notify.message import Fate
from prober.service.deliveries import Deliveries
from prober.service.receiver_trial import try_receiver
from prober.store.outbox import Backlog, Outbox
from prober.telemetry.exposition import MetricsBook
from prober.telemetry.logs import Log
from prober.wiring.campaigns import redactor_for
from prober.wiring.notifications import issues_of, receiver_of, receivers_of
from prober.wiring.prober import open_current_database
from prober.wiring.system import SystemClock

app = typer.Typer(help="Try receivers of notices out, and send what waits.", no_args_is_help=True)

_SHOWN_BYTES = 300


@app.command("test")
def try_out(
    receiver: Annotated[str, typer.Argument(metavar="RECEIVER", help="As the configuration calls it.")],
    *,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Send a marked test message to a receiver and print what came back."""
    settings = load(config)
    delivery = asyncio.run(try_receiver(receiver_of(settings, receiver), SystemClock()))
    console = open_console()
    console.print(f"{receiver}: {delivery.fate.value} ({delivery.answer})", markup=False, soft_wrap=True)
    said = redactor_for(settings).redact(delivery.body[:_SHOWN_BYTES].decode("utf-8", "replace")).strip()
    if said:
        console.print(f"it said: {said}", markup=False, soft_wrap=True)
    if delivery.fate is not Fate.TAKEN:
        raise typer.Exit(Exit.UNDECIDED)


@app.command()
def send(
    *, config: ConfigFile = DEFAULT_CONFIG, log_format: LogFormatOption = None, log_level: LogLevelOption = None
) -> None:
    """Send what waits in the outbox, once; for set-ups without `prober serve`."""
    settings = load(config)
    taken, backlog = asyncio.run(_send(settings, log_for(settings, log_format, log_level)))
    console = open_console()
    console.print(f"{taken} notices sent", markup=False, soft_wrap=True)
    for each in backlog:
        line = f"{each.receiver}: {each.pending} waiting, {each.failed} given up"
        console.print(line, markup=False, soft_wrap=True)
    if any(each.pending for each in backlog):
        raise typer.Exit(Exit.UNDECIDED)


async def _send(settings: Settings, log: Log) -> tuple[int, tuple[Backlog, ...]]:
    clock = SystemClock()
    async with open_current_database(settings) as database:
        outbox = Outbox(database, clock, replica=f"{socket.gethostname()} (notify)")
        deliveries = Deliveries(
            outbox=outbox,
            issues=issues_of(settings, database, clock),
            receivers=receivers_of(settings),
            clock=clock,
            series=MetricsBook(targets=settings.targets, components=(), receivers=settings.notifications).notifications,
            log=log,
            jitter=random.random,
        )
        return await deliveries.deliver_once(), await outbox.backlog()
