"""Bursts of 429: for short whiles the gateway refuses everyone, and says when to come again."""

import asyncio
import collections
import math
import random

from prober.lab.events import FrontEvent, GenerateRequest, Head, Rejection, Service, Stage
from prober.lab.gateway_settings import GatewaySettings

TOO_MANY_REQUESTS = 429
RETRY_AFTER_HEADER = "retry-after"
"""RFC 9110, 10.2.3, as whole seconds."""


class RateLimit:
    """An honest failing of one gateway; counted as rate_limit_bursts and rate_limited."""

    def __init__(
        self, settings: GatewaySettings, *, seed: int, time_scale: float, counters: collections.Counter[str]
    ) -> None:
        self._settings = settings
        self._seed = seed
        self._real_seconds = settings.burst_seconds * time_scale
        self._counters = counters
        self._ends = -math.inf
        """Of the latest burst, in event-loop time."""

    def refusal(self, number: int, request: GenerateRequest) -> tuple[FrontEvent, ...]:
        """The whole answer to the gateway's request of this number during a burst, which it may begin; else nothing."""
        now = asyncio.get_running_loop().time()
        if now >= self._ends:
            draw = random.Random(f"bursts {self._seed} {number}").random()  # noqa: S311 - simulation, no secret
            if draw >= self._settings.burst_rate:
                return ()
            self._ends = now + self._real_seconds
            self._counters["rate_limit_bursts"] += 1
        self._counters["rate_limited"] += 1
        seconds = max(1, math.ceil(self._ends - now))
        head = Head(
            answer_id=request.request_id,
            service=Service(answer_of=request.request_id, backend=""),
            headers={RETRY_AFTER_HEADER: str(seconds)},
        )
        message = f"Rate limit exceeded. Try again in {seconds} s."
        return head, Rejection(
            status=TOO_MANY_REQUESTS, message=message, error_type="RateLimitError", stage=Stage.ROUTER
        )
