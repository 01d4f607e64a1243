"""Consoles that nothing their reader does or lacks can make fail: gone away (`prober run | head`), or ASCII only."""

import io
import os
import sys
from typing import IO

from rich.console import Console


class _Console(Console):
    """Goes quiet on a closed pipe. Rich's own would end the process with 1, which here means a violation."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        silence(self.file)


def silence(stream: IO[str]) -> None:
    """Let a stream's bytes vanish: Python flushes it once more when it ends, and that must not fail either."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    os.close(devnull)


def accept_any_encoding() -> None:
    """Have standard output print `?` for what its encoding lacks, as a bare container's ASCII does."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def open_console(*, stderr: bool = False) -> Console:
    """Open a console on standard output or standard error; nothing is coloured that the caller did not style."""
    return _Console(stderr=stderr, highlight=False)
