"""`prober lab`: the simulated cluster."""

import asyncio
import dataclasses
import json
import pathlib
from typing import Annotated

import typer

from prober.domain.errors import ConfigError, LabError
from prober.lab.faults import FAULTS, check
from prober.lab.loopback import is_loopback
from prober.lab.scenes import SCENES
from prober.lab.server import serve as serve_lab
from prober.lab.settings import LabSettings

app = typer.Typer(help="The simulated inference cluster with injectable faults.", no_args_is_help=True)
DEFAULT_SCENE = "incident"
DEFAULT_KEYS = {"lab-key-alpha": "alpha", "lab-key-bravo": "bravo", "lab-key-charlie": "charlie"}


@app.callback()
def _group() -> None:
    """The simulated inference cluster with injectable faults."""


@app.command()
def serve(
    *,
    scene: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"One of: {', '.join(SCENES)}. Left out: {DEFAULT_SCENE}, or what the first --fault needs.",
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=RATE]", help="Build a fault in, beside the scene's own; rate 1 if left out; repeatable."
        ),
    ] = None,
    fix: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Build a fix in, beside the scene's own; repeatable."),
    ] = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to bind.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65_535, help="Port to bind; 0 takes a free one.")
    ] = 8_000,
    keys: Annotated[
        pathlib.Path | None,
        typer.Option(
            metavar="FILE",
            help=f"JSON object of API keys to tenants; without it the keys are {', '.join(DEFAULT_KEYS)}.",
        ),
    ] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Allow an address that is not loopback.")
    ] = False,
) -> None:
    """Serve a cluster until interrupted. Its first line of output is JSON with its address."""
    settings = _settings(scene, fault or [], fix or [])
    if not allow_remote and not is_loopback(host):
        raise ConfigError(f"the lab serves planted leaks: it binds {host} only with --allow-remote")
    settings = dataclasses.replace(settings, keys=DEFAULT_KEYS if keys is None else _read_keys(keys))
    asyncio.run(serve_lab(settings, host, port, allow_remote=allow_remote))


def _settings(scene: str | None, faults: list[str], fixes: list[str]) -> LabSettings:
    rates = dict(map(_read_fault, faults))
    try:
        check(rates, fixes)
    except LabError as error:
        raise ConfigError(str(error)) from None
    name = scene or next((FAULTS[fault].SCENE for fault in rates), DEFAULT_SCENE)
    if name not in SCENES:
        raise ConfigError(f"no scene {name!r}; there are: {', '.join(SCENES)}")
    settings = SCENES[name]
    return dataclasses.replace(settings, faults={**settings.faults, **rates}, fixes=settings.fixes | set(fixes))


def _read_fault(text: str) -> tuple[str, float]:
    """Name and rate; without one it strikes always."""
    name, has_rate, rate = text.partition("=")
    try:
        return name, float(rate) if has_rate else 1.0
    except ValueError:
        raise ConfigError(f"--fault {name}: the rate must be a number above 0 and at most 1") from None


def _read_keys(file: pathlib.Path) -> dict[str, str]:
    try:
        keys = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} is no readable JSON file ({type(error).__name__})") from None
    is_mapping = isinstance(keys, dict) and all(
        isinstance(text, str) and text for pair in keys.items() for text in pair
    )
    if not is_mapping or not keys:
        raise ConfigError(f"{file} must hold a JSON object of API keys to tenant names")
    return dict(keys)
