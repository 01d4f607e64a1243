"""The one value every dialect decodes answers into."""

import dataclasses

from prober.domain.observation import Refusal, Usage


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One decoded piece of an answer: a server-sent event's data, or a whole JSON body.

    Empty strings and None mean "this piece did not say"; a later frame's value replaces an earlier one's.
    """

    content: str = dataclasses.field(default="", repr=False)
    """Content channel, text of tool calls included; may hold other people's data. Always encodable as UTF-8."""
    reasoning: str = dataclasses.field(default="", repr=False)
    """Reasoning channel, by whichever name the server sends it. Always encodable as UTF-8."""
    tool: bool = False
    """The piece carries a non-empty part of a tool call."""
    finish_reason: str | None = None
    usage: Usage | None = None
    response_id: str | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    sampled: bytes | None = dataclasses.field(default=None, repr=False)
    """UTF-8 of the tokens whose log probabilities came with this piece; None when none did."""
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
