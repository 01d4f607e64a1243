"""Verbs that are imported when they are called for, since what one of them needs would hold up all others.

Databases, HTTP and the web framework take a second or more to import: neither `prober --version` nor `prober key new`
nor a mistyped verb waits for them.
"""

import importlib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_group

PLACES = {
    "demo": "demo:demo",
    "run": "run:run",
    "gate": "gate:gate",
    "serve": "serve:serve",
    "stop": "serve:stop",
    "discover": "discover:discover",
    "validate": "validate:validate",
    "selftest": "selftest:selftest",
    "coverage": "coverage:show_coverage",
    "key": "keys:app",
    "findings": "findings:app",
    "report": "report:report",
    "notify": "notify:app",
    "db": "database:app",
    "vault": "vault:app",
    "token": "token:app",
    "lab": "lab:app",
}
"""Module below this package, and in it a function or a group; in the order of the help."""


class LazyVerbs(Mapping[str, Any]):
    """Commands by verb, of classes that Typer keeps private; a look-up imports the verb's module."""

    def __init__(self, places: Mapping[str, str]) -> None:
        """`places`: as `PLACES`."""
        self._places = dict(places)
        self._commands: dict[str, Any] = {}

    def __getitem__(self, verb: str) -> Any:  # noqa: ANN401 - see above
        """Import it, the first time; `KeyError`: there is no such verb."""
        place = self._places[verb]
        if verb not in self._commands:
            self._commands[verb] = _command(verb, place)
        return self._commands[verb]

    def __iter__(self) -> Iterator[str]:
        """Verbs, none of which is imported for it."""
        return iter(self._places)

    def __len__(self) -> int:
        """Count the verbs."""
        return len(self._places)


class LazyGroup(TyperGroup):
    """All verbs, none of them imported yet."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - Typer's own
        super().__init__(**attributes)
        self.commands = cast("MutableMapping[str, Any]", LazyVerbs(PLACES))

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002 - Typer's signature
        """Names alone: Typer's own would look each of them up."""
        return list(self.commands)


def _command(verb: str, place: str) -> object:
    """Import a verb and have Typer make a command of it."""
    module, name = place.split(":")
    found = getattr(importlib.import_module(f"prober.cli.{module}"), name)
    around = typer.Typer(rich_markup_mode="rich")
    if isinstance(found, typer.Typer):
        around.add_typer(found, name=verb)
    else:
        around.command(verb)(found)
    return get_group(around).commands[verb]
