"""When a fault strikes: by its rate, repeatably, and counted."""

import collections
import random
from collections.abc import Mapping


class Dice:
    """Draws for the faults of one cluster. The same seed, fault and subject always give the same answer."""

    def __init__(self, rates: Mapping[str, float], seed: int, counters: collections.Counter[str]) -> None:
        self._rates = dict(rates)
        self._seed = seed
        self._counters = counters
        counters.update(dict.fromkeys(map(counter_name, rates), 0))

    def strikes(self, fault: str, subject: object) -> bool:
        """Tell whether a fault strikes at one subject (a room, a page, a step), and count it when it does."""
        rate = self._rates.get(fault, 0.0)
        # Seeding by text, not by hash: that differs between processes.
        is_hit = rate >= 1.0 or random.Random(f"{self._seed} {fault} {subject}").random() < rate  # noqa: S311 - no secret
        self._counters[counter_name(fault)] += is_hit
        return is_hit


def counter_name(fault: str) -> str:
    """Key of a fault's strikes among the cluster's counters: truth for tests, never used to answer."""
    return f"fault_{fault}"
