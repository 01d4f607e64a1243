"""How the lab's HTTP surfaces behave; the cluster behind them has settings of its own."""

import dataclasses
import enum


class NativeShape(enum.Enum):
    """What a Workers AI native answer looks like; which one depends on the LLM at the real service."""

    LEGACY = "legacy"
    """`{"response": …}`, streamed and whole; it has no channel for reasoning."""
    OPENAI_CHAT = "openai_chat"
    """Chat completion objects, as frames of a stream or inside the envelope."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceSettings:
    """Switches of the front door."""

    native_shape: NativeShape = NativeShape.OPENAI_CHAT
    ignores_stream: bool = False
    """The native surface answers JSON although `stream: true` was asked for, as some LLMs do there."""
    max_body_bytes: int = 32 * 1024 * 1024
    has_estimate_door: bool = False
    """Workers AI's classic front door: 413 by an estimate of input plus `max_tokens`, before the engine is asked."""
    busy_above: int = 64
    """Requests in flight from which `options.rejectIfBusy` gets 429."""
    record_capacity: int = 10_000

    def __post_init__(self) -> None:
        """Refuse limits under which no request could ever be served."""
        if min(self.max_body_bytes, self.busy_above, self.record_capacity) < 1:
            message = "max_body_bytes, busy_above and record_capacity must be at least 1"
            raise ValueError(message)
