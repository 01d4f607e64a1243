"""Marks of one request on one monotonic clock."""

import asyncio
import fcntl
import struct
from collections.abc import Callable
from typing import Protocol

from prober.domain.observation import Timeline
from prober.runner.ports import Clock

_SIOCOUTQ = 0x5411
"""Bytes of a TCP socket's send queue that the peer has not acknowledged (Linux, tcp(7))."""

_POLL_SECONDS = 0.0005
_POLL_SHARE = 0.01
"""Polling widens to this share of the time waited: a long upload is dated within 1 %, without spinning."""


class Stopwatch:
    """Collects marks; each is kept once, the first time, except `last_token`.

    Until the request starts, marks have nothing to refer to and come out as None.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._marks: dict[str, float] = {}
        self._last_token: float | None = None

    def mark(self, name: str) -> None:
        """Note that `name` happens now, unless it has happened before."""
        self._marks.setdefault(name, self._clock.monotonic())

    def now(self) -> float:
        """The clock's reading, for `token`."""
        return self._clock.monotonic()

    def token(self, at: float) -> None:
        """Note a non-empty token of any channel that came at `at`."""
        self._last_token = at
        self._marks.setdefault("first_token", at)

    def has(self, name: str) -> bool:
        """True when `name` happened."""
        return name in self._marks

    def timeline(self, *, throttle_wait: float, loop_lag_seconds: float) -> Timeline:
        """All marks relative to `request_start`; `connect` is the duration from `connect_start` to it."""
        return Timeline(
            throttle_wait=throttle_wait,
            connect=self._connect_seconds(),
            body_sent=self._since_start(self._marks.get("body_sent")),
            body_acked=self._since_start(self._marks.get("body_acked")),
            headers=self._since_start(self._marks.get("headers")),
            first_byte=self._since_start(self._marks.get("first_byte")),
            first_frame=self._since_start(self._marks.get("first_frame")),
            first_token=self._since_start(self._marks.get("first_token")),
            last_token=self._since_start(self._last_token),
            end=self._since_start(self._marks.get("end")),
            loop_lag_seconds=loop_lag_seconds,
        )

    def _since_start(self, at: float | None) -> float | None:
        start = self._marks.get("request_start")
        return None if start is None or at is None else at - start

    def _connect_seconds(self) -> float | None:
        if "connect_start" not in self._marks or "request_start" not in self._marks:
            return None
        return self._marks["request_start"] - self._marks["connect_start"]


class SendQueue(Protocol):
    """What is watched until it is empty."""

    def unacknowledged(self) -> int | None:
        """Bytes the peer has not acknowledged; None when that cannot be told (any more)."""
        ...


def kernel_send_queue(descriptor: int) -> int | None:
    """Bytes in a TCP socket's send queue, unacknowledged ones included; None where the kernel does not tell."""
    try:
        answer = fcntl.ioctl(descriptor, _SIOCOUTQ, struct.pack("i", 0))
    except (OSError, ValueError):
        return None
    return int(struct.unpack("i", answer)[0])


class AckWatch:
    """Polls a send queue from the moment the body was handed over until it is empty.

    `on_acked` is called once, as soon as the queue is seen empty; never after `stop`.
    """

    def __init__(self, queue: SendQueue, on_acked: Callable[[], None]) -> None:
        self._queue = queue
        self._on_acked = on_acked
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._poll()

    @property
    def is_watching(self) -> bool:
        """Still polling: not acknowledged, not given up, and the kernel does tell."""
        return self._timer is not None

    def _poll(self) -> None:
        self._timer = None
        unacknowledged = self._queue.unacknowledged()
        if unacknowledged == 0:
            self._on_acked()
        elif unacknowledged is not None:
            pause = max(_POLL_SECONDS, _POLL_SHARE * (self._loop.time() - self._began))
            self._timer = self._loop.call_later(pause, self._poll)

    def settle(self) -> None:
        """Look once more, then stop: the peer has begun to answer."""
        if self._timer is not None:
            self.stop()
            if self._queue.unacknowledged() == 0:
                self._on_acked()

    def stop(self) -> None:
        """Give up."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
