"""What goes into the cluster and what comes out: the contract between cluster and surfaces."""

import dataclasses
import enum


class Stage(enum.Enum):
    """Where a request was refused; decides how the refusal looks to the client."""

    TOKENIZER = "tokenizer"
    """Before any stream: a status code."""
    SCHEDULER = "scheduler"
    """After the headers of a stream: HTTP 200 and an error frame; a status code when not streaming."""
    ROUTER = "router"
    """By the router itself: a status code."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest:
    """One chat request, already authenticated."""

    tenant: str
    messages: tuple[tuple[str, str], ...] = dataclasses.field(repr=False)
    """(role, content), in order."""
    max_tokens: int
    temperature: float = 0.0
    stream: bool = True
    request_id: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """The request failed; nothing follows."""

    status: int
    message: str
    error_type: str
    stage: Stage


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Generated text of one token; channels are never both empty."""

    content: str = ""
    reasoning: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The answer is complete; nothing follows."""

    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None = None
    """None: not reported."""
    reasoning_tokens: int = 0


Event = Rejection | Chunk | Done
