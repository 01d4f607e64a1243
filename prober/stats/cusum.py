"""Detection of a change in a failure rate: Page's CUSUM of Bernoulli log-likelihood ratios."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cusum:
    """One-sided CUSUM: S <- max(0, S) + LLR of each trial, alarm at S >= threshold.

    The alarm's mean distance on a healthy path is at least exp(threshold) trials, whatever their order (Lorden 1971).
    """

    honest_rate: float
    """Failure rate while all is well, p0; 0 < p0 < broken_rate."""
    broken_rate: float
    """Failure rate once broken, p1; p0 < p1 < 1."""
    threshold: float
    """In nats; above 0."""

    def __post_init__(self) -> None:
        """Reject rates that tell nothing apart."""
        if not 0.0 < self.honest_rate < self.broken_rate < 1.0:
            message = f"rates {self.honest_rate} (honest) and {self.broken_rate} (broken) must rise within 0..1"
            raise ValueError(message)
        if self.threshold <= 0.0:
            message = f"threshold {self.threshold} must be above 0"
            raise ValueError(message)

    def fold(self, score: float, *, has_failed: bool) -> float:
        """Score after one more trial; start from 0.0. It may be negative after a success, and recovers at once."""
        if has_failed:
            ratio = math.log(self.broken_rate / self.honest_rate)
        else:
            ratio = math.log((1.0 - self.broken_rate) / (1.0 - self.honest_rate))
        return max(0.0, score) + ratio

    def fold_group(self, score: float, *, failures: int, trials: int) -> float:
        """Score after several trials that came at once, such as the words of one answer; their order is not asked for.

        Their ratios are added before the maximum is taken, so that an alarm keeps its mean distance, counted in groups.
        """
        failed = failures * math.log(self.broken_rate / self.honest_rate)
        passed = (trials - failures) * math.log((1.0 - self.broken_rate) / (1.0 - self.honest_rate))
        return max(0.0, score) + failed + passed

    def has_crossed(self, score: float) -> bool:
        """The score is an alarm."""
        return score >= self.threshold

    @property
    def failures_to_alarm(self) -> int:
        """Consecutive failures from a score of 0 that raise the alarm."""
        return math.ceil(self.threshold / math.log(self.broken_rate / self.honest_rate))
