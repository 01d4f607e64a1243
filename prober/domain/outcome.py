"""The four outcomes, for a finding and for a verdict, and how they fold."""

import enum
from collections.abc import Iterable


class Outcome(enum.Enum):
    """What a check concluded; worst wins: VIOLATION > SUSPECT > INCONCLUSIVE > CLEAN."""

    CLEAN = "clean"
    INCONCLUSIVE = "inconclusive"
    SUSPECT = "suspect"
    VIOLATION = "violation"

    @property
    def rank(self) -> int:
        """0 (clean) to 3 (violation)."""
        return _RANK[self]


_RANK = {outcome: rank for rank, outcome in enumerate(Outcome)}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Fold outcomes, worst wins; of nothing at all nothing is known: INCONCLUSIVE."""
    return max(outcomes, key=lambda outcome: outcome.rank, default=Outcome.INCONCLUSIVE)
