"""What one surface's answers look like on the wire."""

import dataclasses
from typing import Protocol

from prober.lab.events import Chunk, Done, Rejection, TokenLogprob


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Identity of one answer."""

    answer_id: str
    """32 hex digits, drawn by the lab: were a client's own id to name a generation, two clients could collide."""
    created: int
    """Seconds since the epoch."""
    model: str
    """Name to report."""
    fingerprint: str = ""
    """OpenAI's `system_fingerprint`; empty: none is reported."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A finished generation, for answers that are not streamed."""

    content: str = dataclasses.field(repr=False)
    reasoning: str = dataclasses.field(repr=False)
    done: Done
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An error answer with a status of its own."""

    status: int
    body: bytes
    content_type: str = "application/json"


class Shape(Protocol):
    """Renders one request's events. Every method returns bytes ready for the socket, possibly none."""

    def first(self) -> bytes:
        """Render what goes ahead of the first output."""
        ...

    def chunk(self, chunk: Chunk) -> bytes:
        """Render newly generated text."""
        ...

    def last(self, done: Done) -> bytes:
        """Render the end of a stream: finish reason, usage where asked for, terminator."""
        ...

    def broken(self, rejection: Rejection) -> bytes:
        """Render a refusal inside a stream that is (or will be) HTTP 200, up to the terminator."""
        ...

    def whole(self, answer: Whole) -> bytes:
        """Render an answer that is not streamed."""
        ...

    def refused(self, rejection: Rejection) -> Refused:
        """Render a refusal with a status of its own."""
        ...
