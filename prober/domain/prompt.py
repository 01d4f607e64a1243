"""Composed text of one probe."""

import dataclasses
import enum

from prober.domain.canary import Canary


class NeedlePosition(enum.Enum):
    """Where in the prompt a plain-sentence needle stands."""

    HEAD = "head"
    MIDDLE = "middle"
    END = "end"
    """Within the last 200 tokens; the decisive one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """One plain sentence with a phrase to recall."""

    position: NeedlePosition
    noun: str
    phrase: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Text to send, and what is known of it. The text is ours: attributable, free of secrets, but large."""

    canary: Canary
    text: str = dataclasses.field(repr=False)
    needles: tuple[Needle, ...]
    filler_words: int
    """Words (or line codes) of canary text in it."""
    planned_tokens: int | None
    """Predicted `usage.prompt_tokens`; None while calibrating."""
    token_tolerance: int
    """|usage - planned| that is still as predicted: 2 where lines are additive, wider where they are not."""
    text_sha256: str = ""
    """Of the UTF-8 text; hex. Equal for replays. Stays where the text itself is taken away."""
