"""One HTTP message to a receiver, and what became of it."""

import dataclasses
import enum
import json
from collections.abc import Mapping
from typing import Any

from prober.notify.ports import HttpAnswer

_TAKING = range(200, 300)

REFUSING = frozenset({400, 413, 422})
"""The receiver will never take this message. Other refusals (a key, an address, a channel) can be put right."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Headers and body; both may hold secrets, so neither is shown."""

    headers: Mapping[str, str] = dataclasses.field(repr=False)
    body: bytes = dataclasses.field(repr=False)


def json_message(content: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Message:
    """Build a message with a JSON body."""
    return Message(headers={"Content-Type": "application/json", **(headers or {})}, body=json_body(content))


def json_body(content: Any) -> bytes:  # noqa: ANN401 - JSON values
    """Render JSON, compact and in ASCII."""
    return json.dumps(content, separators=(",", ":")).encode()


class Fate(enum.Enum):
    """What became of a message."""

    TAKEN = "taken"
    REFUSED = "refused"
    """It will never be taken."""
    LATER = "later"
    """Worth another attempt."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of a message, and how the receiver answered."""

    fate: Fate
    answer: str
    """Status or fault, in our words."""
    retry_after: float | None = None
    body: bytes = dataclasses.field(default=b"", repr=False)
    """The beginning of what the receiver said; for people who try it out, never stored or logged."""


def delivery_of(answer: HttpAnswer) -> Delivery:
    """Judge a receiver's answer."""
    if answer.status is None:
        return Delivery(fate=Fate.LATER, answer=answer.fault)
    fate = Fate.REFUSED if answer.status in REFUSING else Fate.LATER
    if answer.status in _TAKING:
        fate = Fate.TAKEN
    return Delivery(fate=fate, answer=f"HTTP {answer.status}", retry_after=answer.retry_after, body=answer.body)
