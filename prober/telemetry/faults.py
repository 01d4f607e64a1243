"""Exceptions for the log: classes and our own source lines, never a foreign text."""

import traceback
from collections.abc import Iterator

from prober.domain.errors import ProberError

_MAX_CHAIN = 8
_MAX_FRAMES = 20
_OURS = "prober"


def describe(error: BaseException) -> dict[str, object]:
    """Tell an exception by class, our own frames (outermost first), and the classes of what caused it.

    Texts of exceptions are left out, because they may quote what a peer sent; those of our own faults
    (`ProberError`) are written by us and kept, to be redacted like any other text.
    """
    fault: dict[str, object] = {"class": _class_name(error), "frames": _own_frames(error)}
    if isinstance(error, ProberError):
        fault["message"] = str(error)
    if causes := [_class_name(cause) for cause in _causes(error)]:
        fault["causes"] = causes
    return fault


def _own_frames(error: BaseException) -> list[str]:
    frames = [
        f"{module}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if (module := str(frame.f_globals.get("__name__", ""))).split(".", 1)[0] == _OURS
    ]
    return frames[-_MAX_FRAMES:]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What stands behind an exception: causes, contexts and members of groups, each once, nearest first."""
    seen = {id(error)}
    waiting = [error]
    while waiting and len(seen) <= _MAX_CHAIN:
        current = waiting.pop(0)
        members = current.exceptions if isinstance(current, BaseExceptionGroup) else ()
        for behind in (current.__cause__, current.__context__, *members):
            if behind is not None and id(behind) not in seen and len(seen) <= _MAX_CHAIN:
                seen.add(id(behind))
                waiting.append(behind)
                yield behind


def _class_name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
