"""Memory that was freed goes back to the system.

A run composes and reads megabytes of text in threads. glibc keeps what they freed in an arena of each thread's own
(malloc(3), M_ARENA_MAX), in pieces that the next run's texts seldom fit: a service grows by some kilobytes with each
run, and no object of ours accounts for them.
"""

import ctypes
import functools
from collections.abc import Callable


def give_back() -> None:
    """Hand freed pages of every arena back to the system (malloc_trim(3)); does nothing where there is no glibc."""
    trim = _trimmer()
    if trim is not None:
        trim(0)


@functools.cache
def _trimmer() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
