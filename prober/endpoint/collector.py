"""Collects one 2xx answer from its bytes: a stream or a whole body, whatever was asked for and announced."""

import dataclasses
import enum

from prober.domain.observation import Refusal, Usage
from prober.endpoint.dialects.dialect import Dialect
from prober.endpoint.frame import Frame
from prober.endpoint.sse import EventDecoder, ServerEvent
from prober.endpoint.timing import Stopwatch

_SSE_BEGINNINGS = (b"data:", b"event:", b"id:", b"retry:", b":")
_BLANK = b" \t\r\n\xef\xbb\xbf"


class Shape(enum.Enum):
    """How an answer arrives."""

    UNKNOWN = "unknown"
    STREAM = "stream"
    WHOLE = "whole"


class AnswerCollector:
    """Feed it bytes as they come; its fields hold what has been said so far, even if the answer breaks off."""

    def __init__(self, dialect: Dialect, stopwatch: Stopwatch, content_type: str) -> None:
        self._dialect = dialect
        self._stopwatch = stopwatch
        self._announced = Shape.STREAM if content_type.startswith("text/event-stream") else Shape.WHOLE
        self._decoder = EventDecoder()
        self._body = bytearray()
        self._body_at = 0.0
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._other: list[str] = []
        self._sampled: list[bytes] = []
        self._ids: set[str] = set()
        self._is_content_only = True
        self.shape = Shape.UNKNOWN
        self.usage = Usage()
        self.refusal: Refusal | None = None
        self.finish_reason: str | None = None
        self.response_id: str | None = None
        self.model: str | None = None
        self.system_fingerprint: str | None = None
        self.finish_marks = 0
        self.token_frames = 0
        self.bad_frames = 0
        self.is_done = False
        """The stream said that it is over; only stragglers can follow."""
        self.is_terminated = False

    @property
    def text(self) -> str:
        """Content so far."""
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        """Reasoning so far."""
        return "".join(self._reasoning)

    @property
    def response_ids(self) -> int:
        """Different ids of the answer so far."""
        return len(self._ids)

    @property
    def logprobs_agree(self) -> bool | None:
        """Whether the tokens whose log probabilities came so far are the content, to the character.

        None where none came, or where the answer has other text too: how that is marked off from the content is the
        server's own affair.
        """
        if not (self._sampled and self._is_content_only):
            return None
        return as_read(b"".join(self._sampled)) == self.text

    @property
    def other_text(self) -> str:
        """Errors and unreadable frames so far, one per line, as they came."""
        return "\n".join(self._other)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body."""
        self._body_at = self._stopwatch.now()
        if self.shape is Shape.STREAM:
            self._take_events(self._decoder.feed(chunk))
            return
        self._body += chunk
        if self.shape is Shape.UNKNOWN:
            self.shape = _sniff(bytes(self._body[:64]), self._announced)
            if self.shape is Shape.STREAM:
                self._take_events(self._decoder.feed(bytes(self._body)))
                self._body.clear()

    def finish(self) -> None:
        """No more bytes will come, for whatever reason."""
        if self.shape is Shape.UNKNOWN:
            self.shape = self._announced
            if self.shape is Shape.STREAM:
                self._take_events(self._decoder.feed(bytes(self._body)))
        if self.shape is Shape.STREAM:
            self._take_events(self._decoder.finish())
            return
        body = bytes(self._body)
        self._body.clear()
        frame = self._dialect.whole(body)
        self._take(frame, body)
        self.is_terminated = not frame.is_bad

    def _take_events(self, events: list[ServerEvent]) -> None:
        for event in events:
            if event.is_oversized or (event.is_stray and not event.data.lstrip().startswith(b"{")):
                self.bad_frames += 1
                self._other.append(as_read(event.data))
            else:
                self._stopwatch.mark("first_frame")
                self._take(self._dialect.frame(event.data, event.name), event.data)

    def _take(self, frame: Frame, data: bytes) -> None:
        if frame.is_bad or frame.refusal is not None:
            self._other.append(as_read(data))
        if frame.is_bad:
            self.bad_frames += 1
            return
        if frame.content or frame.reasoning or frame.tool:
            self.token_frames += 1
            self._stopwatch.token(self._body_at)
        self._text.append(frame.content)
        self._reasoning.append(frame.reasoning)
        if frame.sampled is not None:
            self._sampled.append(frame.sampled)
        self._is_content_only = self._is_content_only and not frame.reasoning and not frame.tool
        self._take_facts(frame)

    def _take_facts(self, frame: Frame) -> None:
        if frame.usage is not None:
            self.usage = _merged(self.usage, frame.usage)
        if frame.refusal is not None and self.refusal is None:
            is_in_stream = frame.refusal.in_stream or self.shape is Shape.STREAM
            self.refusal = dataclasses.replace(frame.refusal, in_stream=is_in_stream)
        self.finish_reason = frame.finish_reason or self.finish_reason
        self.finish_marks += frame.finish_reason is not None
        if frame.response_id is not None:
            self._ids.add(frame.response_id)
        self.response_id = self.response_id or frame.response_id
        self.model = self.model or frame.model
        self.system_fingerprint = self.system_fingerprint or frame.system_fingerprint
        self.is_done = self.is_done or frame.is_done
        self.is_terminated = self.is_terminated or frame.is_done or frame.finish_reason is not None


def as_read(data: bytes) -> str:
    """Text of bytes that need not be any."""
    return data.decode("utf-8", "replace")


def _sniff(head: bytes, announced: Shape) -> Shape:
    """Shape by the first characters, which cannot lie, else as announced; UNKNOWN while too few have come."""
    start = head.lstrip(_BLANK)
    if not start:
        return Shape.UNKNOWN
    if start[:1] in {b"{", b"["}:
        return Shape.WHOLE
    if start.startswith(_SSE_BEGINNINGS):
        return Shape.STREAM
    if any(beginning.startswith(start) for beginning in _SSE_BEGINNINGS):
        return Shape.UNKNOWN
    return announced


def _merged(older: Usage, newer: Usage) -> Usage:
    """Latest figure of each kind: some servers count on with every frame, others tell each figure once."""
    return Usage(
        prompt_tokens=older.prompt_tokens if newer.prompt_tokens is None else newer.prompt_tokens,
        completion_tokens=older.completion_tokens if newer.completion_tokens is None else newer.completion_tokens,
        cached_tokens=older.cached_tokens if newer.cached_tokens is None else newer.cached_tokens,
        reasoning_tokens=older.reasoning_tokens if newer.reasoning_tokens is None else newer.reasoning_tokens,
    )
