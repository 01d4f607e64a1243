"""Strings of the remote's and of callers, made fit to be shown: nothing in them moves a cursor, hides or turns text.

What is escaped here is not markup: each format escapes that by its own rules.
"""

import dataclasses
import enum
import functools
import unicodedata
from collections.abc import Mapping
from typing import Any, TypeVar

_HARMFUL = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of what is not seen as itself: controls (escape sequences begin with one), marks that turn the
writing direction or vanish, lone surrogates, private and unassigned characters, line separators."""

Value = TypeVar("Value")


def harmless(text: str) -> str:
    """Return the text on one line; what is harmful stands there as Python escapes it."""
    return text if text.isprintable() else "".join(map(_shown, text))


def harmless_throughout(value: Value) -> Value:
    """Copy a value of dataclasses, mappings and tuples with every string in it made harmless."""
    safe: Value = _of(value)
    return safe


def _of(value: Any) -> Any:  # noqa: ANN401 - whatever a report is made of
    if isinstance(value, str):
        return harmless(value)
    if value is None or isinstance(value, int | float | enum.Enum):
        return value
    if isinstance(value, tuple):
        made = tuple(map(_of, value))
        # Most of a large report is harmless as it is, and is not copied.
        return made if any(new is not old for new, old in zip(made, value, strict=True)) else value
    if isinstance(value, Mapping):
        safe = {_of(key): _of(item) for key, item in value.items()}
        return value if safe == value else safe
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        old = {name: getattr(value, name) for name in _fields(type(value))}
        new = {name: _of(item) for name, item in old.items()}
        changed = {name: item for name, item in new.items() if item is not old[name]}
        return dataclasses.replace(value, **changed) if changed else value
    return value


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _HARMFUL:
        return character
    code = ord(character)
    width, letter = (2, "x") if code < 0x100 else (4, "u") if code < 0x10000 else (8, "U")  # noqa: PLR2004 - escapes' own
    return f"\\{letter}{code:0{width}x}"
