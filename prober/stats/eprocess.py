"""Evidence against a fair coin, valid whenever one looks: the paired sign test as an e-process."""

import math
from typing import Final

THETAS: Final = tuple(round(0.55 + 0.02 * step, 2) for step in range(23))
"""Success rates that the alternative mixes over with equal weights: .55, .57, ..., .99."""


def sign_e_value(successes: int, failures: int) -> float:
    """Evidence that successes are likelier than failures, after that many of each: 1 is none, 1e6 pages.

    E_n = mean over theta of (2 theta)^successes * (2 (1 - theta))^failures. Under the null hypothesis (each pair is a
    fair coin, by randomised order) it is a test martingale: the chance that it ever reaches 1/alpha, however often one
    looks, is at most alpha (Ville 1939). Pairs without a winner are left out beforehand. Capped at the largest float.
    Raises ValueError for a negative count.
    """
    if successes < 0 or failures < 0:
        message = f"no evidence in {successes} successes and {failures} failures"
        raise ValueError(message)
    logs = [successes * math.log(2.0 * theta) + failures * math.log(2.0 * (1.0 - theta)) for theta in THETAS]
    largest = max(logs)
    total = largest + math.log(math.fsum(math.exp(log - largest) for log in logs)) - math.log(len(THETAS))
    return math.exp(min(total, _LARGEST_LOG))


_LARGEST_LOG: Final = 709.0
