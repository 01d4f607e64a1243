"""`prober coverage`: which kinds of fault a target has been probed for."""

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated

import typer

from prober.cli.options import DEFAULT_CONFIG, ConfigFile, load
from prober.cli.terminal import aligned, open_console
from prober.config.schema import Settings
from prober.domain.errors import ConfigError
from prober.service.coverage import KindCoverage, coverage, latest_build
from prober.store.rows import StoredTally
from prober.wiring.prober import open_lookups

_HEADINGS = ("kind", "what it is", "last probed", "clean", "leak rate below", "outcome", "by")


def show_coverage(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    target: Annotated[str | None, typer.Option(metavar="NAME", help="Only this target; all when left out.")] = None,
    build: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Only this build; the one probed last when left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell for each kind of fault when it was last probed for, with what bound, and by which scenarios."""
    settings = load(config)
    names = list(settings.targets) if target is None else [target]
    if target is not None and target not in settings.targets:
        raise ConfigError(f"no target {target!r}; there are: {', '.join(settings.targets)}")
    tallies = asyncio.run(_tallies(settings, names))
    builds = {name: latest_build(tallies[name]) or "" if build is None else build for name in names}
    rows = {name: coverage(tallies[name], builds[name]) for name in names}
    console = open_console()
    if as_json:
        facts = [{"target": name, "build": builds[name], "kinds": list(map(_facts, rows[name]))} for name in names]
        console.print(json.dumps(facts, indent=2), markup=False, soft_wrap=True, highlight=False)
        return
    for name in names:
        console.print(f"{name}, build {builds[name] or '(unnamed)'}", markup=False, soft_wrap=True)
        for line in aligned([_HEADINGS, *map(_cells, rows[name])]):
            console.print(f"  {line}", markup=False, soft_wrap=True)


async def _tallies(settings: Settings, names: Sequence[str]) -> dict[str, tuple[StoredTally, ...]]:
    async with open_lookups(settings) as lookups:
        return {name: await lookups.tallies(name) for name in names}


def _cells(row: KindCoverage) -> tuple[str, ...]:
    bound = row.leak_rate_upper95
    return (
        row.kind.value,
        row.kind.title,
        "never" if row.last_at is None else f"{row.last_at:%Y-%m-%d %H:%M}Z",
        f"{row.clean:,}",
        "" if bound is None else f"{bound:.2%}",
        "" if row.outcome is None else row.outcome.value,
        ", ".join(row.probed_by) or f"(would be: {', '.join(row.scenarios)})",
    )


def _facts(row: KindCoverage) -> dict[str, object]:
    return {
        "kind": row.kind.value,
        "title": row.kind.title,
        "scenarios": list(row.scenarios),
        "probed_by": list(row.probed_by),
        "last_at": None if row.last_at is None else row.last_at.isoformat(timespec="seconds"),
        "clean": row.clean,
        "leak_rate_upper95": row.leak_rate_upper95,
        "outcome": None if row.outcome is None else row.outcome.value,
    }
