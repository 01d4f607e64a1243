"""A piece of an answer that none of our texts explains: the only form in which foreign text outlives its reading."""

import dataclasses
import enum


class Channel(enum.Enum):
    """Where in an answer text stood."""

    CONTENT = "content"
    REASONING = "reasoning"
    OTHER = "other"
    """Error bodies, error frames, frames that could not be read."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ExcerptBounds:
    """How much foreign text may be kept, in characters.

    The defaults: over-limit probes ask for at most 64 tokens, which are about 300 characters of English, so one excerpt
    holds such an answer whole; three of them show a longer answer in its several parts. Both are far below what a
    customer's prompt of the lengths that leak holds: enough to tell whose text it is, too little to harvest it.
    """

    excerpt: int = 400
    finding: int = 1_200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Foreign text, bounded. For the vault alone: no other part of the prober may hold one."""

    channel: Channel
    start: int
    """Offset in its channel, in characters."""
    text: str = dataclasses.field(repr=False)
