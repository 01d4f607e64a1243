"""`prober vault`: foreign text that was caught; every look at it is logged."""

import asyncio
import datetime as dt
import getpass
from typing import Annotated

import typer

from prober.cli import vault_keys
from prober.cli.exits import Exit
from prober.cli.foreign_text import harmless_lines
from prober.cli.options import DEFAULT_CONFIG, ConfigFile, load
from prober.cli.terminal import aligned, open_console
from prober.config.schema import Settings
from prober.domain.errors import ConfigError
from prober.domain.vault_log import VaultEntry
from prober.store.vault import Rotation
from prober.store.vault_rows import StoredExcerpt
from prober.wiring.prober import open_vault

_MOST = 2**31 - 1
"""What every database can count to."""

_MOST_OF_NAME = 100
"""Half of what the log keeps of who acts."""

WARNING = (
    "warning: what follows may be text of a real customer; this look at it is logged. "
    "Do not copy it further than its purpose needs."
)

app = typer.Typer(help="Read, purge and re-encrypt foreign text that was caught.", no_args_is_help=True)
app.add_typer(vault_keys.app, name="key")

FindingId = Annotated[
    int, typer.Argument(metavar="FINDING", min=1, max=_MOST, help="As `prober findings list` has it.")
]
Who = Annotated[str | None, typer.Option("--who", help="Who you are, where several share this login.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it stands in the log for good.")]


@app.command()
def show(finding_id: FindingId, *, reason: Reason, who: Who = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Show what is kept of a finding's foreign text. The look is logged before anything is printed."""
    excerpts = asyncio.run(_show(load(config), finding_id, _name(who), reason))
    if not excerpts:
        typer.echo(f"nothing is kept for finding {finding_id}", err=True)
        raise typer.Exit(Exit.USAGE)
    open_console(stderr=True).print(WARNING, markup=False, soft_wrap=True)
    console = open_console()
    for excerpt in excerpts:
        for line in _lines(excerpt):
            console.print(line, markup=False, soft_wrap=True, emoji=False)


@app.command()
def purge(
    *,
    finding: Annotated[int | None, typer.Option(metavar="ID", min=1, max=_MOST, help="What this one holds.")] = None,
    older_than: Annotated[
        int | None, typer.Option(metavar="DAYS", min=0, max=36_500, help="What was kept before.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of it.")] = False,
    reason: Reason = "",
    who: Who = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Delete foreign text; findings stay."""
    if everything == (finding is not None or older_than is not None):
        raise ConfigError("say what to purge: --finding, --older-than, both, or --all")
    age = None if older_than is None else dt.timedelta(days=older_than)
    gone = asyncio.run(_purge(load(config), _name(who), reason, finding, age))
    typer.echo(f"{gone} excerpts purged")


@app.command()
def rotate(*, reason: Reason = "", who: Who = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Encrypt everything anew under the key in force; `prober vault key rotate` puts one in force."""
    done = asyncio.run(_rotate(load(config), _name(who), reason))
    typer.echo(f"{done.renewed} excerpts are under the key in force now")
    if done.unreadable:
        typer.echo(
            f"{done.unreadable} stay as they are: their key is not on the keyring, or they were changed", err=True
        )
        raise typer.Exit(Exit.OWN_FAILURE)


@app.command("log")
def show_log(
    *,
    finding: Annotated[int | None, typer.Option(metavar="ID", min=1, max=_MOST, help="Only about this one.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="At most so many.")] = 100,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Tell who read, purged or re-encrypted what, and why; newest first."""
    entries = asyncio.run(_log(load(config), finding, limit))
    console = open_console()
    lines = aligned([_HEADINGS, *map(_row, entries)]) if entries else ["nobody has looked into the vault"]
    for line in lines:
        console.print(line, markup=False, soft_wrap=True, emoji=False)


_HEADINGS = ("at", "act", "finding", "excerpts", "who", "why")


def _row(entry: VaultEntry) -> tuple[str, ...]:
    return (
        f"{entry.at:%Y-%m-%d %H:%M:%S}Z",
        entry.act.value,
        "" if entry.finding_id is None else str(entry.finding_id),
        str(entry.excerpts),
        *(" ".join(harmless_lines(words, mark="")) for words in (entry.who, entry.why)),
    )


def _lines(excerpt: StoredExcerpt) -> list[str]:
    place = excerpt.place
    head = (
        f"finding {place.finding_id}, {place.channel.value} from character {place.start}, "
        f"{place.characters} characters, kept {excerpt.kept_at:%Y-%m-%d %H:%M:%S}Z"
    )
    if excerpt.text is None:
        return [head, f"  only its hash was kept, for want of a vault key: SHA-256 {excerpt.sha256}"]
    return [head, *harmless_lines(excerpt.text)]


def _name(who: str | None) -> str:
    """Who acts: the login, behind the name given, if one is.

    Raises:
        ConfigError: the name is so long that the log would have no room left for the login.
    """
    if len(who or "") > _MOST_OF_NAME:
        raise ConfigError(f"--who may have at most {_MOST_OF_NAME} characters")
    try:
        login = getpass.getuser()
    except (OSError, KeyError):
        # A container's user may have a number only.
        login = "unknown login"
    return login if who is None else f"{who} ({login})"


async def _show(settings: Settings, finding_id: int, who: str, why: str) -> tuple[StoredExcerpt, ...]:
    async with open_vault(settings) as vault:
        return await vault.show(finding_id, who, why)


async def _purge(
    settings: Settings, who: str, why: str, finding_id: int | None, older_than: dt.timedelta | None
) -> int:
    async with open_vault(settings) as vault:
        return await vault.purge(who, why, finding_id=finding_id, older_than=older_than)


async def _rotate(settings: Settings, who: str, why: str) -> Rotation:
    async with open_vault(settings) as vault:
        return await vault.rotate(who, why)


async def _log(settings: Settings, finding_id: int | None, limit: int) -> tuple[VaultEntry, ...]:
    async with open_vault(settings) as vault:
        return await vault.log(finding_id=finding_id, limit=limit)
