"""`prober token`: who may use the HTTP API."""

import asyncio
import datetime as dt
import re
from typing import Annotated

import typer

from prober.cli.exits import Exit
from prober.cli.options import DEFAULT_CONFIG, ConfigFile, load
from prober.cli.terminal import aligned, open_console
from prober.config.schema import Settings
from prober.domain.account import ApiToken, Scope
from prober.wiring.accounts import open_tokens
from prober.wiring.system import SystemClock

app = typer.Typer(help="Make, list and revoke API tokens.", no_args_is_help=True)

_UNITS = {"m": dt.timedelta(minutes=1), "h": dt.timedelta(hours=1), "d": dt.timedelta(days=1)}
_LIFETIME = re.compile(r"([1-9][0-9]{0,5})([mhd])", re.ASCII)
_LONGEST = dt.timedelta(days=3650)
_HEADINGS = ("name", "scopes", "made", "expires", "last used", "state")


def _lifetime(text: str) -> dt.timedelta:
    form = _LIFETIME.fullmatch(text)
    span = int(form[1]) * _UNITS[form[2]] if form else dt.timedelta()
    if not dt.timedelta() < span <= _LONGEST:
        raise typer.BadParameter("write 90d, 12h or 30m; ten years at most")
    return span


@app.command()
def create(
    *,
    name: Annotated[str, typer.Option(metavar="NAME", help="Who holds it; a name is never given twice.")],
    scope: Annotated[list[Scope], typer.Option(help="What it permits; none holds another, so give all it needs.")],
    expires: Annotated[
        dt.timedelta | None,
        typer.Option(
            parser=_lifetime, metavar="90d", help="Lifetime in days, hours (h) or minutes (m); else for ever."
        ),
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Make an API token and print its secret on standard output: it is shown this once, and kept nowhere."""
    until = None if expires is None else SystemClock().now() + expires
    secret = asyncio.run(_create(load(config), name, scope, until))
    typer.echo(secret)
    scopes = ", ".join(each.value for each in Scope if each in scope)
    typer.echo(f"token {name} ({scopes}), expires {_date(until, 'never')}; this secret is not shown again", err=True)


@app.command("list")
def list_tokens(*, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """List all API tokens, revoked and expired ones too; never a secret."""
    tokens = asyncio.run(_list(load(config)))
    now = SystemClock().now()
    lines = aligned([_HEADINGS, *(_row(token, now) for token in tokens)]) if tokens else ["there are no API tokens"]
    console = open_console()
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `prober token list` shows it.")],
    *,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """End an API token at once. Its name stays, since runs and issues bear it."""
    token = asyncio.run(_revoke(load(config), name))
    if token is None:
        typer.echo("there is no token of that name", err=True)
        raise typer.Exit(Exit.USAGE)
    typer.echo(f"token {token.name} is revoked since {_date(token.revoked_at, '')}")


def _row(token: ApiToken, now: dt.datetime) -> tuple[str, ...]:
    state = "live" if token.is_live(now) else "expired" if token.revoked_at is None else "revoked"
    return (
        token.name,
        ",".join(scope.value for scope in Scope if scope in token.scopes),
        _date(token.created_at, ""),
        _date(token.expires_at, "never"),
        _date(token.last_used_at, "never"),
        state,
    )


def _date(date: dt.datetime | None, otherwise: str) -> str:
    return otherwise if date is None else f"{date:%Y-%m-%d %H:%M}Z"


async def _create(settings: Settings, name: str, scopes: list[Scope], until: dt.datetime | None) -> str:
    async with open_tokens(settings) as tokens:
        return await tokens.create(name, scopes, until)


async def _list(settings: Settings) -> tuple[ApiToken, ...]:
    async with open_tokens(settings) as tokens:
        return await tokens.listed()


async def _revoke(settings: Settings, name: str) -> ApiToken | None:
    async with open_tokens(settings) as tokens:
        return await tokens.revoke(name)
