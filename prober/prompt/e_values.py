"""Likelihood ratios that add up: e-values whose chance of reaching 2**b without a leak is at most 2**-b.

An e-value has expectation at most 1 when nothing leaked, so by Markov's inequality it exceeds 2**b with probability
at most 2**-b; products of conditionally valid ones and averages of any are e-values again (Vovk & Wang 2021).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

_SHARES: Final = np.array([0.05, 0.15, 0.3, 0.5, 0.7, 0.9, 0.98])
"""How much of an answer may come from the donor; unknown, hence a mixture of these."""


def match_bits(matched: npt.NDArray[np.bool_], chance: npt.NDArray[np.float64]) -> float:
    """log2 e-value of independent yes-or-no trials, `chance[i]` being an upper bound of a chance match, in (0, 1].

    Mixture over shares q of prod (q / p) for matches and (1 - q) / (1 - p) for misses; a trial whose p is no smaller
    than q says nothing under that q.
    """
    if not len(matched):
        return 0.0
    return float(row_bits(matched[None], chance[None], np.ones((1, len(matched)), np.bool_))[0])


def row_bits(
    matched: npt.NDArray[np.bool_], chance: npt.NDArray[np.float64], is_trial: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """`match_bits` of each row; all three of shape (rows, trials), where `is_trial` says which count in a row."""
    hit = np.log2(np.maximum(_spread(chance), chance) / chance)
    bits = np.where(matched, hit, _bits_of_a_miss(chance))
    return _average_bits((bits * is_trial).sum(axis=-1))


def miss_bits(trials: npt.NDArray[np.int64], chance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`match_bits` where none of so many trials of one chance, in [0, 1], matched; one of each per item."""
    return _average_bits(trials * _bits_of_a_miss(chance))


def draw_bits(ratio: npt.NDArray[np.float64]) -> float:
    """log2 e-value of independent draws, `ratio[i]` being P(draw | donor) / P(draw | ordinary), expectation <= 1.

    Mixture over shares q of prod (1 - q + q * ratio).
    """
    if not len(ratio):
        return 0.0
    shares = _spread(ratio)
    return float(_average_bits(np.log2(1 - shares + shares * ratio).sum(axis=-1)))


def _spread(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Shares along a new first axis before those of the values."""
    return _SHARES.reshape(-1, *(1,) * values.ndim)


def _bits_of_a_miss(chance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    likelier = np.maximum(_spread(chance), chance)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(likelier > chance, np.log2((1 - likelier) / (1 - chance)), 0.0)


def _average_bits(bits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Mixture of the shares, which are the first axis."""
    mixed: npt.NDArray[np.float64] = np.logaddexp2.reduce(bits, axis=0) - np.log2(len(bits))
    return mixed
