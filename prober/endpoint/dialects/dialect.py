"""What a wire dialect must offer, and the one value it decodes answers into."""

import dataclasses
from collections.abc import Mapping
from typing import Protocol

from prober.domain.observation import Refusal, Usage


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One decoded piece of an answer: a server-sent event's data, or a whole JSON body.

    Empty strings and None mean "this piece did not say"; a later frame's value replaces an earlier one's.
    """

    content: str = dataclasses.field(default="", repr=False)
    """Content channel; may hold other people's data."""
    reasoning: str = dataclasses.field(default="", repr=False)
    """Reasoning channel, by whichever name the server sends it."""
    tool: bool = False
    """The piece carries a non-empty part of a tool call."""
    finish_reason: str | None = None
    usage: Usage | None = None
    response_id: str | None = None
    model: str | None = None
    refusal: Refusal | None = None
    """The piece is an error: the request was refused or broke down."""
    is_done: bool = False
    """The stream's own end marker, or a whole body."""
    is_bad: bool = False
    """The piece could not be understood; everything else is then empty."""

    @property
    def has_token(self) -> bool:
        """At least one non-empty token of any channel: what the first-token mark waits for."""
        return bool(self.content) or bool(self.reasoning) or self.tool


class Dialect(Protocol):
    """One way of asking for a chat completion over HTTP. Stateless; no method that decodes ever raises."""

    @property
    def name(self) -> str:
        """Registry key, as written in the configuration."""
        ...

    def path(self, model: str) -> str:
        """Path below the target's base URL, starting with a slash, percent-encoded."""
        ...

    def body(
        self,
        model: str,
        prompt_text: str,
        *,
        max_output_tokens: int,
        temperature: float,
        stream: bool,
        extra: Mapping[str, object],
    ) -> bytes:
        """Encode a request as UTF-8 JSON; keys of `extra` (operator's own fields) win over ours."""
        ...

    def frame(self, data: bytes, event: str) -> Frame:
        """Decode one server-sent event's data; `event` is its name, empty for the default."""
        ...

    def whole(self, body: bytes) -> Frame:
        """Decode the JSON body of a 2xx answer that is no stream."""
        ...

    def refusal(self, status: int, body: bytes) -> Refusal:
        """Classify an answer whose status is not 2xx."""
        ...
