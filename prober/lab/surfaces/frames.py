"""Server-sent event frames and JSON bodies."""

import json
from collections.abc import Mapping

JSON_TYPE = "application/json"
EVENT_STREAM_TYPE = "text/event-stream; charset=utf-8"

DONE_FRAME = b"data: [DONE]\n\n"


def json_bytes(payload: Mapping[str, object]) -> bytes:
    """Compact UTF-8 JSON of text that UTF-8 can carry (lone surrogates are refused at the door)."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


def data_frame(payload: Mapping[str, object]) -> bytes:
    """One `data:` frame with its empty line. JSON escapes line breaks, so it is always one line."""
    return b"data: " + json_bytes(payload) + b"\n\n"
