"""What goes into the cluster and what comes out: the contract between cluster and surfaces."""

import dataclasses
import enum
from collections.abc import Mapping


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
    """Ours, unique."""
    client_id: str = ""
    """The client's own `X-Request-Id`, which nobody may take for unique; empty when none was sent."""
    session: str = ""
    """Affinity key of the client (`X-Session-Affinity`); empty when none was sent."""
    cache_salt: str = ""
    """The client's own part of the prefix cache's key."""
    choices: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    """Constrained decoding: the answer must be one of these; empty: free."""
    favoured_token: int | None = None
    """Token id with a bias of +100."""
    reasoning_budget: int | None = None
    """Tokens of reasoning at most; None: as many as the LLM likes."""
    wants_logprobs: bool = False
    late_error: str = ""
    """What the scheduler, not the front door, will find wrong with the request (a grammar that does not compile)."""
    model: str = ""
    """Model group that was asked for; empty: the gateway's own."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """The request failed; nothing follows."""

    status: int
    message: str
    error_type: str
    stage: Stage


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprob:
    """One token as it was sampled."""

    text: str = dataclasses.field(repr=False)
    logprob: float
    """Natural logarithm of its probability, at most 0."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Generated text of one decode step, of one token or more; channels are never both empty."""

    content: str = ""
    reasoning: str = ""
    logprobs: tuple[TokenLogprob, ...] = ()
    """When `wants_logprobs`: the tokens of this chunk, whose texts a sound answer adds up to; empty otherwise."""


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
"""What a cluster says."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Who served a request: truth for tests and records, which no client is shown."""

    answer_of: str
    """Unique id of the request that the answer was generated for."""
    backend: str
    attempts: int = 1
    is_cached: bool = False
    """From the gateway's response cache."""
    tokens_dropped: int = 0
    """Of the prompt, by the gateway."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Opens each answer that comes through the gateway, together with its first event."""

    answer_id: str
    """Id of the response, 32 hex digits: a response that is sent twice keeps it."""
    service: Service
    fingerprint: str = ""
    """Label of the build that answered (OpenAI's `system_fingerprint`)."""
    model: str = ""
    """Name to report; empty: the one that was asked for."""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The gateway's own response headers."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Severed:
    """The answer ends here, and nothing says why; nothing follows."""


FrontEvent = Head | Event | Severed
"""What the gateway says."""
