"""Reading JSON from peers that may send anything: every function here answers, none raises."""

import json
import re
from collections.abc import Mapping, Sequence

from prober.endpoint.labels import label

_MAX_COUNT = 10**12
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def decode(data: bytes) -> object:
    """Decode a JSON text; None when it is none (or `null`, which says as little)."""
    try:
        decoded: object = json.loads(data)
    except (ValueError, RecursionError):
        # ValueError covers broken JSON, broken UTF-8 and integers of thousands of digits.
        return None
    return decoded


def as_map(value: object) -> Mapping[str, object]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_items(value: object) -> Sequence[object]:
    """The value if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else ()


def as_count(value: object) -> int | None:
    """A non-negative integer below 10**12, else None. Whole floats count; booleans do not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MAX_COUNT:
        return None
    return value


def as_text(value: object) -> str:
    """Text that can be encoded as UTF-8: halves of surrogate pairs become U+FFFD. Numbers are printed, else empty."""
    if isinstance(value, str):
        return value if value.isascii() else _LONE_SURROGATE.sub("\ufffd", value)
    if value is not None and isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    return ""


def as_flat_text(value: object) -> str:
    """Like `as_text`; objects and arrays are written out as JSON."""
    if not isinstance(value, dict | list):
        return as_text(value)
    try:
        return json.dumps(value)
    except RecursionError:
        return ""


def as_label(value: object) -> str | None:
    """An identifier for records, or the hash of what is none (`labels.label`); None if it is no text or blank."""
    return label(value) if isinstance(value, str) and value.strip() else None
