"""Tokens per minute, first come first served, however large a prompt is.

Libraries for this starve the large request (aiolimiter keeps waiters in a heap by amount) or refuse it (an amount above
the burst is a ValueError there); a prober lives on prompts that are larger than any burst. So: a token bucket that may
go into debt, and one queue.
"""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Final

from prober.domain.errors import ConfigError
from prober.runner.ports import Clock

SECONDS_PER_MINUTE: Final = 60.0
BURST_SECONDS: Final = 6.0
"""A pace that was idle lets a tenth of a minute's tokens through at once, and no more."""

LONGEST_NAP: Final = 1.0
"""Seconds until the head of the queue looks again: what is refunded meanwhile must not be waited for."""

_NOISE = 1e-6

Sleep = Callable[[float], Awaitable[None]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TokenBucket:
    """The arithmetic: tokens accrue evenly up to the burst, and may be owed.

    A request may start once min(its tokens, burst) are there; then all its tokens are taken. So in any T seconds at
    most rate x T + max(burst, largest request) tokens start, and what is owed is waited for by whoever comes next: over
    time the rate is exact.
    """

    rate: float
    """Tokens per second; above 0."""
    burst: float
    level: float
    """Tokens there; negative while some are owed."""
    at: float
    """Monotonic second at which `level` was true."""

    def wait(self, tokens: int, now: float) -> float:
        """Seconds until a request of so many tokens may start; 0: now."""
        missing = min(tokens, self.burst) - self._level_at(now)
        return 0.0 if missing <= _NOISE else missing / self.rate

    def take(self, tokens: int, now: float) -> "TokenBucket":
        """Take tokens for a request that starts, into debt if need be."""
        return dataclasses.replace(self, level=self._level_at(now) - tokens, at=now)

    def put_back(self, tokens: int, now: float) -> "TokenBucket":
        """Give tokens back that a request did not use, up to the burst."""
        return dataclasses.replace(self, level=min(self.burst, self._level_at(now) + tokens), at=now)

    def _level_at(self, now: float) -> float:
        return min(self.burst, self.level + max(0.0, now - self.at) * self.rate)


class TokenPace:
    """One queue before one bucket. Begins with a full burst.

    Raises:
        ConfigError: a rate below 1, which would wait for ever.
    """

    def __init__(self, tokens_per_minute: int, clock: Clock, sleep: Sleep = asyncio.sleep) -> None:
        if tokens_per_minute < 1:
            raise ConfigError("pacing needs at least one token per minute")
        rate = tokens_per_minute / SECONDS_PER_MINUTE
        burst = max(1.0, rate * BURST_SECONDS)
        self._bucket = TokenBucket(rate=rate, burst=burst, level=burst, at=clock.monotonic())
        self._clock = clock
        self._sleep = sleep
        # Fair: its waiters are woken in their order, and one that is cancelled leaves the queue without a trace.
        self._turn = asyncio.Lock()

    async def acquire(self, tokens: int) -> None:
        """Wait until everybody who came before has started, and this request may; then take its tokens."""
        async with self._turn:
            while (wait := self._bucket.wait(tokens, self._clock.monotonic())) > 0:
                await self._sleep(min(wait, LONGEST_NAP))
            self._bucket = self._bucket.take(tokens, self._clock.monotonic())

    def refund(self, tokens: int) -> None:
        """Give back what was not used."""
        self._bucket = self._bucket.put_back(tokens, self._clock.monotonic())


@dataclasses.dataclass(frozen=True, slots=True)
class Toll:
    """What one request took."""

    paces: tuple[TokenPace, ...]
    tokens: int
    waited: float
    """Seconds."""

    def refund(self) -> None:
        """Give it back: the request was never sent, or not processed."""
        for pace in self.paces:
            pace.refund(self.tokens)


class TokenPaces:
    """Paces of one target: of each tenant, and of all together; None: unbounded.

    Kept for as long as the process lives, so that what one run owes the next one waits for.
    """

    def __init__(
        self,
        *,
        tokens_per_minute: int | None,
        tenant_tokens_per_minute: int | None,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._of_target = () if tokens_per_minute is None else (TokenPace(tokens_per_minute, clock, sleep),)
        self._tenant_tokens_per_minute = tenant_tokens_per_minute
        self._of_tenants: dict[str, TokenPace] = {}

    async def pay(self, tenant: str, tokens: int) -> Toll:
        """Wait for the tenant's turn, then for the target's; a wait that is cancelled takes nothing."""
        asked = self._clock.monotonic()
        taken: list[TokenPace] = []
        try:
            for pace in (*self._of_tenant(tenant), *self._of_target):
                await pace.acquire(tokens)
                taken.append(pace)
        except BaseException:
            Toll(tuple(taken), tokens, 0.0).refund()
            raise
        return Toll(tuple(taken), tokens, self._clock.monotonic() - asked)

    def _of_tenant(self, tenant: str) -> tuple[TokenPace, ...]:
        rate = self._tenant_tokens_per_minute
        if rate is None:
            return ()
        if tenant not in self._of_tenants:
            self._of_tenants[tenant] = TokenPace(rate, self._clock, self._sleep)
        return (self._of_tenants[tenant],)
