"""Bounds on a leak rate from counts of probes, exact and one-sided."""

import math

_BISECTION_STEPS = 60
"""Halvings of 0..1: far below the rounding of the tail sum."""


def leak_rate_upper95(clean: int) -> float:
    """Upper 95 % bound on the leak rate per probe after `clean` clean probes and no leak: 1 - 0.05**(1/clean).

    Exact Clopper-Pearson for zero events ("rule of three", Hanley and Lippman-Hand 1983). On an all-clean path it is
    valid at any time, however often it is looked at: prod(1/(1-p0)) is a test martingale that crosses 1/0.05 at the
    very same count. Raises ValueError when `clean` < 1.
    """
    if clean < 1:
        message = "no bound without a clean probe"
        raise ValueError(message)
    return -math.expm1(math.log(0.05) / clean)


def probes_needed(leak_rate: float, confidence: float) -> int:
    """Least number of clean probes that excludes a leak rate at a confidence, both strictly between 0 and 1.

    Smallest n with (1 - leak_rate)**n <= 1 - confidence. Raises ValueError outside the range.
    """
    if not (0.0 < leak_rate < 1.0 and 0.0 < confidence < 1.0):
        message = f"leak rate {leak_rate} and confidence {confidence} must lie between 0 and 1"
        raise ValueError(message)
    return math.ceil(math.log1p(-confidence) / math.log1p(-leak_rate))


def clopper_pearson_upper(events: int, trials: int, confidence: float = 0.95) -> float:
    """One-sided upper bound on a rate: the p at which at most `events` in `trials` has probability 1 - confidence.

    Exact binomial tail (Clopper and Pearson 1934), solved by bisection. Returns 1.0 when every trial was an event.
    Raises ValueError unless 0 <= events <= trials, trials >= 1 and 0 < confidence < 1.
    """
    if not (0 <= events <= trials and trials >= 1 and 0.0 < confidence < 1.0):
        message = f"no bound for {events} events in {trials} trials at confidence {confidence}"
        raise ValueError(message)
    if events == trials:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2.0
        if _probability_of_at_most(events, trials, middle) > 1.0 - confidence:
            low = middle
        else:
            high = middle
    return high


def _probability_of_at_most(events: int, trials: int, rate: float) -> float:
    """Binomial distribution function, summed in logarithms; rate strictly between 0 and 1."""
    log_hit, log_miss = math.log(rate), math.log1p(-rate)
    return math.fsum(
        math.exp(
            math.lgamma(trials + 1)
            - math.lgamma(count + 1)
            - math.lgamma(trials - count + 1)
            + count * log_hit
            + (trials - count) * log_miss
        )
        for count in range(events + 1)
    )
