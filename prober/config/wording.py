"""Pydantic's errors in our own words: its texts may quote what stands in the file."""

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from prober.config.rules import ERROR_TYPE

_FIXED = {
    "missing": "is missing",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text; put it in quotes",
    "path_type": "must be a path",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
}

_WITH_LIMIT: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than": lambda context: f"must be above {context['gt']:g}",
    "greater_than_equal": lambda context: f"must be at least {context['ge']}",
    "less_than": lambda context: f"must be below {context['lt']}",
    "less_than_equal": lambda context: f"must be at most {context['le']:.0f}",
    "enum": lambda context: f"must be {context['expected'].replace(chr(39), '')}",
    "literal_error": lambda context: f"must be {context['expected']}",
    ERROR_TYPE: lambda context: str(context["message"]),
}


def message(kind: str, context: Mapping[str, Any]) -> str:
    """Say what is wrong, given pydantic's error type and its context (limits and choices, all of them ours)."""
    if kind in _WITH_LIMIT:
        return _WITH_LIMIT[kind](context)
    return _FIXED.get(kind, "is not valid here")


def unknown_key(key: str, section: type[BaseModel] | None) -> str:
    """Say that a key is unknown, with the closest one of its section; the key itself may be a misplaced credential."""
    closest = difflib.get_close_matches(key, section.model_fields if section else (), n=1)
    return f"unknown key; did you mean {closest[0]}?" if closest else "unknown key"
