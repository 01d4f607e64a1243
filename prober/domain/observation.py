"""All that came back for one probe: failures and timeline included. What the remote did is data, never an exception."""

import dataclasses
import datetime as dt
import enum
from collections.abc import Mapping


class FailureKind(enum.Enum):
    """Why there is no complete HTTP exchange (or stream)."""

    CONNECT = "connect"
    DNS = "dns"
    TLS = "tls"
    PROXY = "proxy"
    WRITE = "write"
    HANG = "hang"
    """Nothing came for the target's `hang_seconds`, or the whole answer took longer than its deadline."""
    CLOSED_EARLY = "closed_early"
    """The peer closed before or within the answer."""
    PROTOCOL = "protocol"
    TOO_LARGE = "too_large"
    """The answer passed our byte bound; we stopped reading."""
    ABANDONED = "abandoned"
    """Our planned disconnect."""
    INTERNAL = "internal"
    """Our own fault while sending; counted as ours, never as the target's."""


class RefusalReason(enum.Enum):
    """Why a request was refused, read from status and body."""

    LENGTH = "length"
    AUTH = "auth"
    RATE = "rate"
    OVERLOAD = "overload"
    BYTES = "bytes"
    """A body limit of a proxy or front door: says nothing about tokens."""
    NOT_FOUND = "not_found"
    """No such route or model."""
    SERVER = "server"
    OTHER = "other"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refusal, classified; `code` is the server's own machine code (bounded, no free text)."""

    reason: RefusalReason
    code: str = ""
    in_stream: bool = False
    """HTTP 200 first, then an error frame: what a healthy SGLang does with `stream: true`."""
    stated_limits: tuple[int, ...] = ()
    """Token limits the text names (context, pool limit), smallest first."""
    stated_tokens: int | None = None
    """The server's own count of our prompt, where it prints one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as reported; a field that was not reported is None, which is not 0."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Marks in seconds on one monotonic clock, relative to `request_start` = 0.0; None = did not happen.

    TTFT claimed against a floor is `first_token` itself (since request start): contention can only make it larger.
    """

    throttle_wait: float = 0.0
    """Time spent before the clock started, waiting for the tenant's pacing."""
    connect: float | None = None
    """Duration of resolving, connecting, tunnel and TLS, all before `request_start`; None on a reused connection."""
    body_sent: float | None = None
    """Handed to the kernel; lies by up to 3.5 MB of send queue."""
    body_acked: float | None = None
    """The peer's kernel acknowledged the last byte (SIOCOUTQ reached 0)."""
    headers: float | None = None
    first_byte: float | None = None
    first_frame: float | None = None
    first_token: float | None = None
    """First non-empty token of any channel: content, reasoning, tool call."""
    last_token: float | None = None
    end: float | None = None
    loop_lag_seconds: float = 0.0
    """Largest event-loop delay seen while this probe was in flight."""

    MAX_TRUSTED_LAG_SECONDS = 0.020

    @property
    def is_trusted(self) -> bool:
        """False when our own event loop was late: timing then proves nothing."""
        return self.loop_lag_seconds <= self.MAX_TRUSTED_LAG_SECONDS


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one request brought back."""

    sent_at: dt.datetime
    """Aware, UTC."""
    request_id: str = ""
    """The X-Request-Id we sent: finds the request in the server's own logs."""
    status: int | None = None
    failure: FailureKind | None = None
    failure_detail: str = ""
    """Our own words and exception class names only, never the peer's text."""
    refusal: Refusal | None = None
    text: str = dataclasses.field(default="", repr=False)
    """Content channel. May hold other people's data: read by `prompt.reading`, then given to the vault port only."""
    reasoning: str = dataclasses.field(default="", repr=False)
    other_text: str = dataclasses.field(default="", repr=False)
    """What the peer said outside both channels: error bodies, error frames, frames that could not be read. Searched
    for canaries like an answer, since a refusal can be written into memory that holds another prompt; otherwise mute.
    """
    reasoning_characters: int = 0
    """Length of the reasoning channel; set where the text itself is taken away (`without_text`)."""
    finish_reason: str | None = None
    usage: Usage = Usage()
    timeline: Timeline = Timeline()
    response_id: str | None = None
    model_reported: str | None = None
    evidence_headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Allow-listed response headers only: request ids, cache and fallback marks."""
    is_stream: bool = False
    """The answer came as server-sent events."""
    is_terminated: bool = False
    """The stream ended with `[DONE]` or a finish reason, or a JSON body was whole."""
    token_frames: int = 0
    bad_frames: int = 0
    """Data frames that were no JSON object."""
    bytes_received: int = 0
    system_fingerprint: str | None = None
    """The server's own label of its build and configuration (OpenAI's `system_fingerprint`), bounded."""
    response_ids: int = 0
    """Different response ids within one stream; more than one is two answers in one."""
    finish_marks: int = 0
    """Finish reasons sent; more than one is two endings in one stream."""
    logprobs_agree: bool | None = None
    """The tokens whose log probabilities came add up to the content; None: none came."""
    is_connection_reused: bool = False
    """Sent on a connection that had carried an answer before."""

    def without_text(self) -> "Observation":
        """Copy without the peer's text: what detectors and everything after them may hold."""
        characters = max(self.reasoning_characters, len(self.reasoning))
        return dataclasses.replace(self, text="", reasoning="", other_text="", reasoning_characters=characters)
