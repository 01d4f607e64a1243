"""How many probes bound which leak rate: the table itself, and whether its promise holds (detection-science 9.4)."""

import math
from collections.abc import Iterator
from typing import Final

from benchmarks.detection.simulated import Simulations, exact, generator, share
from benchmarks.figure import Figure
from prober.stats.bounds import clopper_pearson_upper, leak_rate_upper95, probes_needed

TABLE: Final = (
    (0.1, 29, 44, 66),
    (0.01, 299, 459, 688),
    (0.003, 998, 1_533, 2_300),
    (0.001, 2_995, 4_603, 6_905),
    (0.0003, 9_985, 15_349, 23_023),
    (0.0001, 29_956, 46_050, 69_075),
)
"""Leak rate -> clean probes that exclude it at 95 %, 99 %, 99.9 %."""

CONFIDENCES: Final = (0.95, 0.99, 0.999)
AFTER_LEAKS: Final = ((1, "1.6e-3"), (2, "2.1e-3"), (3, "2.6e-3"))
"""Leaks in 3,000 probes -> upper 95 % bound."""


def leak_rates(sizes: Simulations) -> Iterator[Figure]:
    """Every cell of the table with the share of simulated runs in which such a leak shows; then bounds after leaks."""
    for rate, *cited in TABLE:
        for confidence, reference in zip(CONFIDENCES, cited, strict=True):
            needed = probes_needed(rate, confidence)
            name = f"clean probes that exclude {rate:.2%} at {confidence:.1%}"
            yield exact(name, needed, "probes", reference=f"{reference:,}", at_most=reference)
        shown = generator(f"leaks {rate}").binomial(probes_needed(rate, 0.95), rate, sizes.counts) > 0
        yield share(f"runs at {rate:.2%} in which it shows, promised 95 %", int(shown.sum()), sizes.counts)
    needed = probes_needed(0.001, 0.95, visibility=0.5)
    yield exact("the same for 0.10 % at 95 %, visibility 0.5", needed, "probes", reference="5,990", at_most=5_990)
    yield exact("upper 95 % bound after 2,995 clean probes", leak_rate_upper95(2_995), "", at_most=0.001)
    for leaks, published in AFTER_LEAKS:
        upper = clopper_pearson_upper(leaks, 3_000)
        yield exact(f"upper 95 % bound after {leaks} in 3,000", upper, "", reference=published)
    missed, probability = 0, 0.0
    while clopper_pearson_upper(missed, 3_000) < 0.001:
        probability += math.comb(3_000, missed) * 0.001**missed * 0.999 ** (3_000 - missed)
        missed += 1
    name = "bounds after 3,000 probes that lie below a true 0.1 %"
    yield exact(name, probability, "", reference="5 %", at_most=0.05)
