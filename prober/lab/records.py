"""What the lab itself saw of each request: an oracle for timings that is independent of the prober's own marks."""

import dataclasses
import enum
import time
from collections import deque
from collections.abc import Callable

from prober.lab.events import Service

Monotonic = Callable[[], float]
"""Seconds on CLOCK_MONOTONIC, which all processes of one machine share: both sides' marks may be subtracted."""

MAX_ID_CHARACTERS = 128


class AnswerKind(enum.Enum):
    """How the lab answered."""

    IN_FLIGHT = "in_flight"
    SERVED = "served"
    REJECTED = "rejected"
    """Refused by the cluster with a status of its own."""
    REJECTED_IN_STREAM = "rejected_in_stream"
    SEVERED = "severed"
    """Ended without a word about why."""
    UNAUTHORISED = "unauthorised"
    INVALID = "invalid"
    TOO_MANY_BYTES = "too_many_bytes"
    BUSY = "busy"
    ABANDONED = "abandoned"
    """The client hung up first."""
    FAILED = "failed"
    """The lab's own fault, or its shutdown."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Recording:
    """One request as its client is answered. Times in seconds on the records' clock; None = did not happen."""

    surface: str
    request_id: str
    """The client's `X-Request-Id`, shortened to 128 characters; empty when none was sent."""
    unique_id: str
    """Ours, of this request alone."""
    clock: Monotonic = dataclasses.field(repr=False)
    headers_received: float
    tenant: str | None = None
    body_received: float | None = None
    first_content: float | None = None
    """Taken just before the first non-empty text of any channel was handed to the socket: no client can see it
    earlier."""
    ended: float | None = None
    status: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    body_bytes: int = 0
    kind: AnswerKind = AnswerKind.IN_FLIGHT
    service: Service | None = None
    """Who served it, which the marks above cannot tell behind a gateway; None: no answer has begun."""

    def body_is_complete(self, size: int) -> None:
        """Mark the arrival of the body's last byte."""
        self.body_received = self.clock()
        self.body_bytes = size

    def content_is_due(self) -> None:
        """Mark the first non-empty text; later calls change nothing."""
        if self.first_content is None:
            self.first_content = self.clock()

    def end(self, kind: AnswerKind) -> None:
        """Close the record; the first call decides."""
        if self.ended is None:
            self.ended = self.clock()
            self.kind = kind

    def facts(self) -> dict[str, object]:
        """Plain values for `/lab/records`: no text of anyone's, no credential."""
        return {
            "surface": self.surface,
            "request_id": self.request_id,
            "unique_id": self.unique_id,
            "tenant": self.tenant,
            "kind": self.kind.value,
            "status": self.status,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "body_bytes": self.body_bytes,
            "headers_received": self.headers_received,
            "body_received": self.body_received,
            "first_content": self.first_content,
            "ended": self.ended,
            "service": dataclasses.asdict(self.service) if self.service else None,
        }


class Records:
    """Ring of the newest records, oldest first."""

    def __init__(self, capacity: int = 10_000, clock: Monotonic = time.monotonic) -> None:
        self._ring: deque[Recording] = deque(maxlen=capacity)
        self._clock = clock

    def open(self, surface: str, request_id: str, unique_id: str) -> Recording:
        """Start a record for a request whose headers have just arrived."""
        recording = Recording(
            surface=surface,
            request_id=request_id[:MAX_ID_CHARACTERS],
            unique_id=unique_id,
            clock=self._clock,
            headers_received=self._clock(),
        )
        self._ring.append(recording)
        return recording

    def facts(self) -> list[dict[str, object]]:
        """All records held, oldest first; those in flight included."""
        return [recording.facts() for recording in self._ring]
