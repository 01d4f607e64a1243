"""Bounds on a leak rate from counts of probes, exact and one-sided."""

import math

_BISECTION_STEPS = 60
"""Halvings of 0..1: far below the rounding of the tail sum."""

_NEGLIGIBLE = 1e-18
"""Share of a sum that its double precision does not hold."""


def leak_rate_upper95(clean: int) -> float:
    """Upper 95 % bound on the rate, per probe, of leaks that show, after `clean` clean probes: 1 - 0.05**(1/clean).

    How often a leak shows is not known: a healthy target has none to measure it by, and that an LLM repeats what it was
    asked for says nothing of text that it was not asked for. Who assumes a share of s divides by it (`probes_needed`).

    Exact Clopper-Pearson for zero events ("rule of three", Hanley and Lippman-Hand 1983). On an all-clean path it is
    valid at any time, however often it is looked at: prod(1/(1-p0)) is a test martingale that crosses 1/0.05 at the
    very same count. Raises ValueError when `clean` < 1.
    """
    if clean < 1:
        message = "no bound without a clean probe"
        raise ValueError(message)
    return -math.expm1(math.log(0.05) / clean)


def probes_needed(leak_rate: float, confidence: float, visibility: float = 1.0) -> int:
    """Least number of clean probes that excludes a leak rate at a confidence, both strictly between 0 and 1.

    Smallest n with (1 - leak_rate * visibility)**n <= 1 - confidence: of leaks that are assumed to show with a chance
    of s only, it takes n / s probes. Raises ValueError outside the range.
    """
    if not 0.0 < visibility <= 1.0:
        message = f"no bound on leaks that show with probability {visibility}"
        raise ValueError(message)
    if not (0.0 < leak_rate < 1.0 and 0.0 < confidence < 1.0):
        message = f"leak rate {leak_rate} and confidence {confidence} must lie between 0 and 1"
        raise ValueError(message)
    return math.ceil(math.log1p(-confidence) / math.log1p(-leak_rate * visibility))


def clopper_pearson_upper(events: int, trials: int, confidence: float = 0.95) -> float:
    """One-sided upper bound on a rate: the p at which at most `events` in `trials` has probability 1 - confidence.

    Exact binomial tail (Clopper and Pearson 1934), solved by bisection. Returns 1.0 when every trial was an event.
    Raises ValueError unless 0 <= events <= trials, trials >= 1 and 0 < confidence < 1.
    """
    _require_counts(events, trials, confidence)
    return 1.0 if events == trials else _rate_at(events, trials, 1.0 - confidence)


def clopper_pearson_lower(events: int, trials: int, confidence: float = 0.95) -> float:
    """One-sided lower bound on a rate: the p at which at least `events` in `trials` has probability 1 - confidence.

    The upper bound's mirror image; 0.0 without an event. Raises ValueError as `clopper_pearson_upper` does.
    """
    _require_counts(events, trials, confidence)
    return 0.0 if events == 0 else _rate_at(events - 1, trials, confidence)


def _require_counts(events: int, trials: int, confidence: float) -> None:
    if not (0 <= events <= trials and trials >= 1 and 0.0 < confidence < 1.0):
        message = f"no bound for {events} events in {trials} trials at confidence {confidence}"
        raise ValueError(message)


def _rate_at(events: int, trials: int, probability: float) -> float:
    """Rate at which at most `events` in `trials`, fewer than all, have a probability; it falls as the rate rises."""
    low, high = 0.0, 1.0
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2.0
        if _probability_of_at_most(events, trials, middle) > probability:
            low = middle
        else:
            high = middle
    return high


def _probability_of_at_most(events: int, trials: int, rate: float) -> float:
    """Binomial distribution function, for 0 <= events < trials and a rate strictly between 0 and 1.

    Summed from `events` away from the mean, where terms fall, until they add nothing: a few square roots of `trials`.
    """
    if events < rate * trials:
        return _tail(events, trials, rate)
    return 1.0 - _tail(trials - events - 1, trials, 1.0 - rate)


def _tail(events: int, trials: int, rate: float) -> float:
    """Add up the probabilities of events, events - 1, ...: each less than the one before."""
    log_choose = math.lgamma(trials + 1) - math.lgamma(events + 1) - math.lgamma(trials - events + 1)
    term = math.exp(log_choose + events * math.log(rate) + (trials - events) * math.log1p(-rate))
    total, odds = term, (1.0 - rate) / rate
    for count in range(events, 0, -1):
        term *= count / (trials - count + 1) * odds
        total += term
        if term < total * _NEGLIGIBLE:
            break
    return total
