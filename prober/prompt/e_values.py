"""Likelihood ratios that add up: e-values whose chance of reaching 2**b without a leak is at most 2**-b.

An e-value has expectation at most 1 when nothing leaked, so by Markov's inequality it exceeds 2**b with probability
at most 2**-b; products of conditionally valid ones and averages of any are e-values again (Vovk & Wang 2021).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

_SHARES: Final = np.array([0.05, 0.15, 0.3, 0.5, 0.7, 0.9, 0.98])[:, None]
"""How much of an answer may come from the donor; unknown, hence a mixture of these."""


def match_bits(matched: npt.NDArray[np.bool_], chance: npt.NDArray[np.float64]) -> float:
    """log2 e-value of independent yes-or-no trials, `chance[i]` being an upper bound of a chance match, in (0, 1].

    Mixture over shares q of prod (q / p) for matches and (1 - q) / (1 - p) for misses; a trial whose p is no smaller
    than q says nothing under that q.
    """
    if not len(matched):
        return 0.0
    likelier = np.maximum(_SHARES, chance)
    hit = np.log2(likelier / chance)
    with np.errstate(divide="ignore", invalid="ignore"):
        miss = np.where(likelier > chance, np.log2((1 - likelier) / (1 - chance)), 0.0)
    return _average_bits(np.where(matched, hit, miss).sum(axis=1))


def draw_bits(ratio: npt.NDArray[np.float64]) -> float:
    """log2 e-value of independent draws, `ratio[i]` being P(draw | donor) / P(draw | ordinary), expectation <= 1.

    Mixture over shares q of prod (1 - q + q * ratio).
    """
    if not len(ratio):
        return 0.0
    return _average_bits(np.log2(1 - _SHARES + _SHARES * ratio).sum(axis=1))


def _average_bits(bits: npt.NDArray[np.float64]) -> float:
    return float(np.logaddexp2.reduce(bits) - np.log2(len(bits)))
