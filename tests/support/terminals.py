"""Terminals: command blocks of our documents, executed as a reader types them."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from tests.support.markdown import ROOT

_FENCE = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ELSEWHERE = re.compile(r"[Ii]n the terminal of the\s+\*\*(\w+)\*\*")

_TYPED = """
set -eo pipefail
if [ -e "$STATE/variables" ]; then . "$STATE/variables"; cd "$(cat "$STATE/folder")"; fi
trap 'export -p > "$STATE/variables"; pwd > "$STATE/folder"' EXIT
"""
_LEFT_RUNNING = """
set -eo pipefail
. "$STATE/variables"; cd "$(cat "$STATE/folder")"
"""
_KEPT = ("HOME", "LANG", "PATH", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "TMPDIR")
"""Of the environment of whoever runs the tests: what a shell has from the start."""


def blocks(text: str) -> list[tuple[str | None, str]]:
    """Shell blocks of a document in their order, each with the name of its terminal; None is the reader's own."""
    found = []
    for fence in _FENCE.finditer(text):
        words = text[: fence.start()].rstrip("\n").rpartition("\n\n")[2]
        elsewhere = _ELSEWHERE.findall(words)
        found.append((elsewhere[-1] if elsewhere else None, fence[1]))
    return found


def check_out(folder: Path) -> None:
    """Copy what a clone of this checkout holds, changes that are not committed yet included."""
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


class Terminals:
    """The reader's own terminal, and those in which something goes on running until it is replaced."""

    def __init__(self, checkout: Path, state: Path) -> None:
        """Begin in a checkout; `state` is an empty folder for what stays between two commands."""
        self._checkout = checkout
        self._state = state
        self._left: dict[str, subprocess.Popen[bytes]] = {}
        self._environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._environment["STATE"] = str(state)
        # A reader's shell stands in no virtual environment at first.
        outside = [part for part in os.environ["PATH"].split(os.pathsep) if not (Path(part) / "activate").exists()]
        self._environment["PATH"] = os.pathsep.join(outside)

    def close(self) -> None:
        """Press Ctrl-C wherever something runs."""
        for name in list(self._left):
            self.interrupt(name)

    def typed(self, block: str, seconds: float = 300) -> tuple[int, str]:
        """Execute a block in the reader's own terminal; returns the exit code of its end and all that was printed."""
        done = subprocess.run(
            ["/bin/bash", "-c", _TYPED + block],
            cwd=self._checkout,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
        return done.returncode, done.stdout

    def leave_running(self, name: str, block: str, port: int, seconds: float = 60) -> None:
        """Execute a block in a terminal of its own, after Ctrl-C to what runs there, until it listens."""
        if name in self._left:
            self.interrupt(name)
        assert not is_listening(port), f"port {port}, which the document names, is in use on this machine"
        with (self._state / name).open("ab") as printed:
            self._left[name] = subprocess.Popen(
                ["/bin/bash", "-c", _LEFT_RUNNING + block],
                cwd=self._checkout,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
            )
        until = time.monotonic() + seconds
        while not is_listening(port):
            assert self._left[name].poll() is None, f"{name} ended: {self.printed(name)}"
            assert time.monotonic() < until, f"{name} does not listen on port {port}: {self.printed(name)}"
            time.sleep(0.1)

    def printed(self, name: str) -> str:
        """All that was printed in a terminal so far."""
        return (self._state / name).read_text()

    def interrupt(self, name: str) -> None:
        """Press Ctrl-C in a terminal, and wait for the end."""
        process = self._left.pop(name)
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def is_listening(port: int) -> bool:
    """Whether somebody takes connections on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
