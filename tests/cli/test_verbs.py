"""Verbs that are imported only when they are called for."""

import json
import subprocess
import sys

import pytest
import typer
from typer.main import get_group

from prober.cli.app import app
from prober.cli.exits import Exit
from prober.cli.verbs import PLACES, LazyVerbs
from tests.support.command import invoke

HEAVY = {"alembic", "asyncpg", "fastapi", "httpx", "numpy", "sqlalchemy", "uvicorn"}
TELL = """
import json, sys
from prober.cli import main
try:
    main()
except SystemExit as end:
    print(json.dumps({"code": end.code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""


def imported(*arguments: str) -> tuple[int, set[str]]:
    """Exit code of a command, and the modules that its process held at its end."""
    finished = subprocess.run(
        [sys.executable, "-c", TELL, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    told = json.loads(finished.stderr.splitlines()[-1])
    return told["code"], set(told["modules"])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--version",), 0), (("no-such-verb",), Exit.USAGE), (("key", "--help"), 0)],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(int(value)),
)
def test_what_needs_no_database_and_no_network_imports_none(arguments: tuple[str, ...], code: int):
    """Version, a mistyped verb and the verbs about keys answer at once."""
    ended, modules = imported(*arguments)

    assert (ended, modules & HEAVY) == (code, set())


def test_a_verb_imports_what_it_needs():
    """The measure above sees what is imported: a verb that reads the database holds it."""
    _, modules = imported("findings", "--help")

    assert "sqlalchemy" in modules


@pytest.mark.parametrize("verb", PLACES)
def test_each_verb_is_found_at_its_place(verb: str):
    """Every verb of the help is a command of that name which explains itself."""
    command = get_group(app).commands[verb]

    assert command.name == verb
    assert command.help


def test_the_help_lists_every_verb_in_its_order():
    """Whoever asks for help sees all verbs, in the order that they are laid down in."""
    said = invoke("--help").stdout
    places = [said.index(f"│ {verb} ") for verb in PLACES]

    assert places == sorted(places)
    assert get_group(app).list_commands(typer.Context(get_group(app))) == list(PLACES)


def test_a_mistyped_verb_is_answered_with_the_nearest():
    """The names of verbs are known before any is imported."""
    finished = invoke("runn")

    assert finished.code == Exit.USAGE
    assert "Did you mean 'run'?" in finished.said


def test_a_verb_is_built_once():
    """A command looked up twice is the same object; an unknown one is a `KeyError`, as in any mapping."""
    verbs = LazyVerbs({"key": "keys:app"})

    assert verbs["key"] is verbs["key"]
    assert (list(verbs), len(verbs)) == (["key"], 1)
    with pytest.raises(KeyError):
        verbs["run"]
