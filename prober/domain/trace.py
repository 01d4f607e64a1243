"""What a report tells of one exchange beside its answer: when, how long, and what the server said of itself."""

import dataclasses
import datetime as dt
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Times in seconds since the request started; strings of the remote are labels, bounded and blinded."""

    sent_at: dt.datetime | None = None
    """Aware, UTC; None: not known."""
    is_stream: bool = False
    body_acked_seconds: float | None = None
    """The peer had the whole request."""
    headers_seconds: float | None = None
    last_token_seconds: float | None = None
    end_seconds: float | None = None
    is_timing_trusted: bool = True
    """Our own event loop was on time."""
    max_output_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str | None = None
    failure: str | None = None
    """Code of why there is no whole answer."""
    refusal: str | None = None
    """Code of why it was refused."""
    refusal_code: str | None = None
    """The server's own."""
    stated_limits: tuple[int, ...] = ()
    """Token limits that the refusal named, smallest first."""
    stated_tokens: int | None = None
    """The server's own count of the prompt, where the refusal printed one."""
    response_id: str | None = None
    model_reported: str | None = None
    system_fingerprint: str | None = None
    """The server's label of its build."""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Allow-listed response headers."""


UNTRACED = Trace()
"""Nothing is known."""
