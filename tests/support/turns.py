"""Turns of the workers that run tests side by side.

pytest-xdist's own groups will not do: under pytest 9.2 its `loadgroup` groups nothing, and says nothing
(https://github.com/pytest-dev/pytest-xdist/issues/1386); and a group still has other tests beside it.
"""

import contextlib
import enum
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


class Turn(enum.IntEnum):
    """What must not run beside a test, strictest first."""

    ALONE = 0
    """Anything: it measures time in small amounts."""
    ONE_AT_A_TIME = 1
    """Another of its kind: it keeps more than one processor core busy, and time matters."""
    BESIDE = 2
    """Only what must be alone."""


class Turns:
    """One worker's part in it. Locks of files: the kernel gives up those of a worker that died.

    Whoever wants to be alone waits in the door, so that nobody else comes in before: it is not overtaken for ever.
    """

    def __init__(self, folder: Path) -> None:
        """All workers name the same existing folder."""
        self._door, self._room, self._seat = ((folder / name).open("ab") for name in ("door", "room", "seat"))
        self._is_kept = False

    @contextlib.contextmanager
    def take(self, turn: Turn, following: Turn | None = None) -> Iterator[None]:
        """Wait for a turn, and have it within the block.

        Args:
            turn: what must not run meanwhile.
            following: this worker's next turn; between two turns that are alone nobody else gets in.
        """
        with contextlib.ExitStack() as held:
            # Before the door: waiting for the seat holds up nobody.
            if turn is Turn.ONE_AT_A_TIME:
                held.enter_context(_locked(self._seat))
            if not self._is_kept:
                with _locked(self._door):
                    fcntl.flock(self._room, fcntl.LOCK_EX if turn is Turn.ALONE else fcntl.LOCK_SH)
            try:
                yield
            finally:
                self._is_kept = turn is following is Turn.ALONE
                if not self._is_kept:
                    fcntl.flock(self._room, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give up everything."""
        for file in (self._door, self._room, self._seat):
            file.close()


@contextlib.contextmanager
def _locked(file: BinaryIO) -> Iterator[None]:
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
