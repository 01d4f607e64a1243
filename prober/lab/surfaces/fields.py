"""Fields of a request's body, read with the checks that an inference server makes."""

import json
import math
from collections.abc import Mapping


class RequestError(Exception):
    """The request cannot be asked of any cluster. The message holds no text of the request."""


def parse_object(body: bytes) -> dict[str, object]:
    """Parse a JSON object.

    Raises:
        RequestError: the body is no UTF-8, no JSON, too deeply nested, or no object.
    """
    try:
        parsed = json.loads(body.decode())
    except UnicodeDecodeError:
        raise RequestError("the body is not valid UTF-8") from None
    except ValueError as error:
        position = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise RequestError(f"the body is not valid JSON{position}") from None
    except RecursionError:
        raise RequestError("the body is nested too deeply") from None
    if not isinstance(parsed, dict):
        raise RequestError("the body must be a JSON object")
    return parsed


def text_of(place: str, text: str) -> str:
    """The text, if UTF-8 can carry it.

    Raises:
        RequestError: it holds a lone surrogate.
    """
    # Known without looking at each of its millions of characters, unlike what `encode` would say.
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RequestError(f"{place}: holds a lone surrogate") from None
    return text


def string(fields: Mapping[str, object], name: str, default: str) -> str:
    """A string; `default` where it is missing or null.

    Raises:
        RequestError: it is something else.
    """
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise RequestError(f"{name}: must be a string")
    return text_of(name, value)


def number(value: object) -> float | None:
    """A JSON number, infinite where a float cannot hold it; None for everything else."""
    # bool is an int to Python, not to JSON.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def flag(fields: Mapping[str, object], name: str) -> bool:
    """True or false; false where it is missing or null.

    Raises:
        RequestError: it is something else.
    """
    value = fields.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise RequestError(f"{name}: must be true or false")
    return value


def mapping(fields: Mapping[str, object], name: str) -> Mapping[str, object]:
    """An object; empty where it is missing or null.

    Raises:
        RequestError: it is something else.
    """
    value = fields.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RequestError(f"{name}: must be an object")
    return value
