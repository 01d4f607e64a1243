"""The command as its callers meet it: help, wrong command lines, faults of ours."""

import pytest

from prober import __version__
from prober.cli.exits import Exit
from prober.wiring.prober import Prober
from tests.support.command import Workplace, invoke


@pytest.mark.parametrize("option", ["--version"])
def test_the_version_is_told(option: str):
    """What is installed can be asked for."""
    finished = invoke(option)

    assert (finished.code, finished.stdout) == (0, f"isolation-prober {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        *((verb, "--help") for verb in ("run", "demo", "validate", "selftest", "key", "findings", "db", "lab")),
        ("lab", "serve", "--help"),
        ("findings", "list", "--help"),
    ],
    ids=" ".join,
)
def test_every_verb_explains_itself(arguments: tuple[str, ...]):
    """Help is there for each verb and ends well."""
    finished = invoke(*arguments)

    assert finished.code == 0
    assert "Usage" in finished.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-verb",),
        ("run", "--no-such-option"),
        ("run", "--max-tokens", "0"),
        ("run", "--fail-on", "clean"),
        ("run", "--trigger", "whim"),
        ("findings", "show", "one"),
        ("findings", "show", "99999999999999999999999"),
        ("findings", "list", "--limit", "99999999999999999999999"),
        ("lab", "serve", "--port", "70000"),
        ("selftest", "--case", "no-such-case"),
        ("lab", "serve", "--scene", "no-such-scene"),
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_2(arguments: tuple[str, ...], place: Workplace):
    """Usage errors say what is wrong, on standard error, before anything is done."""
    place.configure("http://127.0.0.1:9/v1")
    finished = place.invoke(*arguments)

    assert finished.code == Exit.USAGE
    assert finished.stderr
    assert finished.stdout == ""
    assert "Traceback" not in finished.stderr
    assert place.run_rows() == []


async def test_a_bug_of_ours_is_4_without_a_traceback(monkeypatch: pytest.MonkeyPatch, place: Workplace):
    """The outermost frame names the class and our own lines, and asks for a report."""
    place.configure("http://127.0.0.1:9/v1")

    def broken(*_arguments: object, **_options: object) -> object:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(Prober, "run", broken)
    finished = await place.invoke_beside("run")

    assert finished.code == Exit.OWN_FAILURE
    assert "internal error, please report it" in finished.stderr
    assert "ZeroDivisionError" in finished.stderr
    assert "secret" not in finished.said
    assert "Traceback" not in finished.said
