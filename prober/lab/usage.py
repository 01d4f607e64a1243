"""How healthy servers report cached tokens, wrongly as some do."""

import dataclasses
import enum

from prober.lab.events import Done


class UsageStyle(enum.Enum):
    """What a cluster reports in `cached_tokens`: one style for all its answers."""

    COUNTED = "counted"
    """What was counted."""
    NULL = "null"
    """Nothing, whatever was cached (vLLM #42748)."""
    HANDED_OVER = "handed_over"
    """All but the last token of any prompt, as vLLM's decode counts what its prefill sent (vLLM #43370)."""
    COUNTED_TWICE = "counted_twice"
    """More than the prompt has: both roles count what was handed over (SGLang #25972)."""


def reported(done: Done, style: UsageStyle) -> Done:
    """The end of an answer as a cluster of this style reports it."""
    if style is UsageStyle.COUNTED:
        return done
    handed_over = max(0, done.prompt_tokens - 1)
    cached = {UsageStyle.HANDED_OVER: handed_over, UsageStyle.COUNTED_TWICE: 2 * handed_over}.get(style)
    return dataclasses.replace(done, cached_tokens=cached)
