"""Consoles that nothing their reader does or lacks can make fail: gone away (`prober run | head`), or ASCII only."""

import io
import os
import sys
from collections.abc import Sequence
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


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Pad cells to columns. A table of Rich's would cut ids away where the screen is narrow, or in a pipe."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
