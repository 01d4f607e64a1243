"""The entry point."""

import builtins

import pytest

from prober.cli.exits import Exit
from tests.support.command import invoke


def test_an_interrupt_while_the_command_loads_is_130(monkeypatch: pytest.MonkeyPatch):
    """Ctrl-C in the first second shows no traceback."""

    def interrupted(name: str, *arguments: object) -> object:
        if name == "prober.cli.app":
            raise KeyboardInterrupt
        return load(name, *arguments)

    load = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", interrupted)
    finished = invoke("--version")
    assert (finished.code, finished.stdout, finished.stderr) == (Exit.INTERRUPTED, "", "")
