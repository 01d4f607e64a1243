"""How often one caller may ask: a bucket for each, in bounded memory."""

import collections
import dataclasses

from prober.runner.ports import Clock

MOST_CALLERS = 10_000
"""Buckets kept; past it the one used longest ago is forgotten, and its caller starts with a full one."""


@dataclasses.dataclass(slots=True)
class _Bucket:
    left: float
    filled_at: float


class Rates:
    """Token buckets: one minute's worth at once, then steadily. In one process; replicas count by themselves."""

    def __init__(self, per_minute: int, clock: Clock, most_callers: int = MOST_CALLERS) -> None:
        self._per_second = per_minute / 60
        self._size = float(per_minute)
        self._clock = clock
        self._most_callers = most_callers
        self._buckets: collections.OrderedDict[str, _Bucket] = collections.OrderedDict()

    def take(self, caller: str) -> float:
        """Take one; return 0, or, with nothing taken, in how many seconds there will be one."""
        now = self._clock.monotonic()
        bucket = self._buckets.setdefault(caller, _Bucket(self._size, now))
        self._buckets.move_to_end(caller)
        if len(self._buckets) > self._most_callers:
            self._buckets.popitem(last=False)
        bucket.left = min(self._size, bucket.left + (now - bucket.filled_at) * self._per_second)
        bucket.filled_at = now
        if bucket.left < 1:
            return (1 - bucket.left) / self._per_second
        bucket.left -= 1
        return 0.0
