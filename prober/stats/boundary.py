"""Search for the longest prompt that is within a limit: steppers that say what to try next and fold each answer.

The limit is written as its largest length within; every longer one is beyond. What "within" means (served soundly,
not refused, ...) is the caller's business.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

_LEAST_ERROR_RATE = 0.01
"""Assumed at least, so that one surprising answer never rules a length out for good."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """Plain bisection between a length known to be within and one known to be beyond; believes every answer.

    Needs ceil(log2((smallest_beyond - largest_within) / grain)) answers.
    """

    largest_within: int
    smallest_beyond: int
    grain: int = 1
    """Width of the bracket, in tokens, at which the search ends."""
    contradictions: int = 0
    """Answers that no single limit explains together with the earlier ones; they move nothing."""

    def __post_init__(self) -> None:
        """Reject a bracket that holds no limit."""
        if not self.largest_within < self.smallest_beyond:
            message = f"no limit lies between {self.largest_within} (within) and {self.smallest_beyond} (beyond)"
            raise ValueError(message)
        if self.grain < 1:
            message = f"grain {self.grain} is no positive number of tokens"
            raise ValueError(message)

    @property
    def is_settled(self) -> bool:
        """The bracket is as narrow as asked for."""
        return self.smallest_beyond - self.largest_within <= self.grain

    @property
    def next_length(self) -> int | None:
        """Length to try next, strictly inside the bracket, whole grains above its lower end; None once settled."""
        if self.is_settled:
            return None
        steps = -(-(self.smallest_beyond - self.largest_within) // self.grain)
        return self.largest_within + steps // 2 * self.grain

    def answered(self, length: int, *, is_within: bool) -> "Bisection":
        """Fold one answer, for any length: inside the bracket it narrows, outside it confirms or contradicts."""
        if length >= self.smallest_beyond if is_within else length <= self.largest_within:
            return dataclasses.replace(self, contradictions=self.contradictions + 1)
        if is_within:
            return dataclasses.replace(self, largest_within=max(length, self.largest_within))
        return dataclasses.replace(self, smallest_beyond=min(length, self.smallest_beyond))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProbabilisticBisection:
    """Horstein's probabilistic bisection on a grid of lengths: tolerates wrong answers at a stated rate.

    Holds a posterior over which grid length is the largest within. Source: Horstein 1963; Waeber, Frazier, Henderson
    2013 (geometric convergence). Build with `over`.
    """

    lengths: npt.NDArray[np.int64]
    """The grid, ascending, at least two lengths."""
    weights: npt.NDArray[np.float64]
    """Posterior probability that the limit is that length; sums to 1."""
    false_beyond_rate: float
    """Assumed probability that a length within is answered as beyond, 0.01..0.5."""
    false_within_rate: float
    """Assumed probability that a length beyond is answered as within, 0.01..0.5."""

    @classmethod
    def over(
        cls,
        *,
        shortest: int,
        longest: int,
        page_tokens: int,
        false_beyond_rate: float = 0.0,
        false_within_rate: float = 0.0,
    ) -> "ProbabilisticBisection":
        """Start from a uniform prior over shortest, shortest + page, ... up to `longest` tokens.

        Raises ValueError for a grid of fewer than two lengths or for a rate outside 0..0.5 (0.5 excluded: such
        answers carry nothing).
        """
        if page_tokens < 1 or longest - shortest < page_tokens:
            message = f"no grid of {page_tokens}-token pages between {shortest} and {longest}"
            raise ValueError(message)
        for rate in (false_beyond_rate, false_within_rate):
            if not 0.0 <= rate < 0.5:  # noqa: PLR2004 - a fair coin
                message = f"error rate {rate} is outside 0..0.5"
                raise ValueError(message)
        lengths = np.arange(shortest, longest + 1, page_tokens, dtype=np.int64)
        return cls(
            lengths=lengths,
            weights=np.full(len(lengths), 1.0 / len(lengths)),
            false_beyond_rate=max(false_beyond_rate, _LEAST_ERROR_RATE),
            false_within_rate=max(false_within_rate, _LEAST_ERROR_RATE),
        )

    @property
    def next_length(self) -> int:
        """Grid length that splits the posterior most evenly.

        The split nearest to one half, not the first past it: always querying the median itself stalls on a grid,
        because it can leave nearly all the mass on one side for ever.
        """
        mass_below = np.cumsum(self.weights)[:-1]
        return int(self.lengths[1 + int(np.argmin(np.abs(mass_below - 0.5)))])

    @property
    def estimate(self) -> int:
        """Most probable largest length within."""
        return int(self.lengths[int(np.argmax(self.weights))])

    def interval(self, confidence: float = 0.99) -> tuple[int, int]:
        """Central credible interval for the largest length within, both ends on the grid and included."""
        cumulative = np.cumsum(self.weights)
        tail = (1.0 - confidence) / 2.0
        last = len(self.lengths) - 1
        low = min(int(np.searchsorted(cumulative, tail)), last)
        high = min(int(np.searchsorted(cumulative, 1.0 - tail)), last)
        return int(self.lengths[low]), int(self.lengths[high])

    def is_settled(self, tolerance_tokens: int, confidence: float = 0.99) -> bool:
        """The credible interval is no wider than `tolerance_tokens`."""
        low, high = self.interval(confidence)
        return high - low <= tolerance_tokens

    def answered(self, length: int, *, is_within: bool) -> "ProbabilisticBisection":
        """Fold one answer by Bayes' rule; `length` may lie off the grid."""
        if is_within:
            if_within, if_beyond = 1.0 - self.false_beyond_rate, self.false_within_rate
        else:
            if_within, if_beyond = self.false_beyond_rate, 1.0 - self.false_within_rate
        weights = self.weights * np.where(self.lengths >= length, if_within, if_beyond)
        return dataclasses.replace(self, weights=weights / weights.sum())
