"""What the gateway in front of the clusters does beside passing requests on; nothing, unless it is switched on."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Switches of one gateway. Times are virtual seconds."""

    cached_responses: int = 0
    """Room of the response cache; 0: there is none."""
    pooled_credential: bool = False
    """All requests reach the backends under the gateway's own credential: they see a single tenant."""
    salts_tenants: bool = False
    """A request's cache salt is made from its tenant and the client's own salt: prefix caches then keep pooled tenants
    apart."""
    retries: int = 0
    """Further attempts, at other backends first, after a connection was lost before anything was sent back."""
    falls_back: bool = False
    """When a group's backends cannot be reached, or answer 5xx, the next model group is asked; the answer says so."""
    loss_rate: float = 0.0
    """Honest failing: share of requests whose connection breaks before the reply begins."""
    burst_rate: float = 0.0
    """Honest failing: share of requests that begin a burst of 429, in which everybody is refused."""
    burst_seconds: float = 0.0
    """How long a burst lasts; 0: only the request that began it is refused."""
    connection_uses: int = 1_000
    """Requests after which a kept-alive connection is closed (nginx `keepalive_requests`: 1,000)."""
    tick_seconds: float = 0.0
    """Replies that begin within one tick are handed out together at its end; 0: each at once."""
    window_tokens: int | None = None
    """Longest prompt that a gateway lets through which cuts prompts: the right one sends all on. None: half of the
    context."""

    def __post_init__(self) -> None:
        """Refuse what no gateway can do."""
        if self.cached_responses < 0 or self.retries < 0 or self.tick_seconds < 0:
            raise ValueError("cached_responses, retries and tick_seconds must be at least 0")
        if self.connection_uses < 1 or (self.window_tokens is not None and self.window_tokens < 1):
            raise ValueError("connection_uses and window_tokens must be at least 1")
        if not (0 <= self.loss_rate < 1 and 0 <= self.burst_rate < 1):
            raise ValueError("loss_rate and burst_rate must be at least 0 and below 1")
        if self.burst_seconds < 0:
            raise ValueError("burst_seconds must be at least 0")
