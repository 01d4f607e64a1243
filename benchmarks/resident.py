"""Resident memory of processes, as Linux tells it in /proc; nothing else is asked, so elsewhere it is unknown."""

import contextlib
import math
import pathlib
from collections.abc import Iterator

MIB = 1 << 20
_PROC = pathlib.Path("/proc")


def resident_bytes(pid: int | str = "self") -> float:
    """What a process holds now; NaN where that cannot be read."""
    return _field("VmRSS", pid)


def peak_bytes(pid: int | str = "self") -> float:
    """The most that a process has held since its program began, which `ru_maxrss` is not.

    That one starts at what the parent held at the fork.
    """
    return _field("VmHWM", pid)


def descendants(pid: int) -> list[int]:
    """Processes that it started, and theirs."""
    children: dict[int, list[int]] = {}
    for child, parent in _parents():
        children.setdefault(parent, []).append(child)
    found, waiting = [], [pid]
    while waiting:
        own = children.get(waiting.pop(), [])
        found += own
        waiting += own
    return found


def _field(name: str, pid: int | str) -> float:
    with contextlib.suppress(OSError):
        for line in (_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key == name:
                return int(value.removesuffix("kB")) * 1024
    return math.nan


def _parents() -> Iterator[tuple[int, int]]:
    """Every process with its parent."""
    for status in _PROC.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # Second comes the program's name in brackets, which may hold anything.
            _state, parent, *_ = status.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            yield int(status.parent.name), int(parent)
