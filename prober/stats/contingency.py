"""Whether failures are commoner in one group than in another, exactly."""

import math


def excess_p_value(*, failures: int, trials: int, other_failures: int, other_trials: int) -> float:
    """Chance of at least so many of all failures falling into the first group, were both groups alike.

    One-sided exact test of Fisher (1935): given the margins, failures in the first group are hypergeometric. 1.0 when
    a group is empty. Raises ValueError unless 0 <= failures <= trials in both groups.
    """
    if not (0 <= failures <= trials and 0 <= other_failures <= other_trials):
        message = f"no test of {failures} failures in {trials} against {other_failures} in {other_trials}"
        raise ValueError(message)
    everything, wrong = trials + other_trials, failures + other_failures
    ways = [
        math.exp(_log_choose(trials, count) + _log_choose(other_trials, wrong - count) - _log_choose(everything, wrong))
        for count in range(failures, min(trials, wrong) + 1)
    ]
    return min(1.0, math.fsum(ways))


def spent_alpha(alpha: float, look: int) -> float:
    """Share of `alpha` for the look-th look (from 1) at growing data: alpha / (look (look + 1)).

    The shares of all looks add up to alpha, so that looking at each new failure never passes it (Bonferroni).
    """
    return alpha / (look * (look + 1))


def _log_choose(whole: int, part: int) -> float:
    return math.lgamma(whole + 1) - math.lgamma(part + 1) - math.lgamma(whole - part + 1)
