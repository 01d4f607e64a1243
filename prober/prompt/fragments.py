"""Evidence from scraps: a leak through torn pages seldom shows a whole code, but groups, word pairs, vocabulary.

Each kind is tested against a chance that holds without a leak, whatever the answer says:

* word pairs: a donor's text is drawn by key, independent of the answer; any one pair stands in it with a chance equal
  to the share of all possible pairs that do, so that a long donor's pairs are worth little. A pair that goes on from
  a matched neighbour may belong to the same place of the donor and is granted that chance too.
* groups of line codes: likewise; a group that matches may go on into the rest of its code, each character 1/32.
* words of a tenant's slice: each alphabet word of the answer counts once, by how much likelier it is from the slice
  than in ordinary language or salad (`alphabet.BASE_RATES`).

Likelihood ratios multiply (`evidence`), and log2 of the number of donors compared is taken off: without a leak,
P(any tally >= b bits) <= 2**-b.
"""

import dataclasses
import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from prober.domain.canary import Canary
from prober.domain.prompt import Prompt
from prober.domain.reading import FragmentTally
from prober.domain.target import TextForm
from prober.prompt.alphabet import BASE_RATES, SYMBOLS
from prober.prompt.donors import PAIRS, Donor, alphabet_words
from prober.prompt.evidence import draw_bits, match_bits
from prober.prompt.code_scraps import Scraps, scraps_of
from prober.prompt.line_code import CODE_CHARACTERS
from prober.prompt.live import LiveIndex
from prober.prompt.normalised import visible_ascii
from prober.prompt.numbered_lines import SLICE_WORDS, slice_number


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Answer:
    """Fragments of an answer that do not stand in the answering probe's own prompt."""

    words: npt.NDArray[np.int16]
    """Distinct alphabet words in order of appearance."""
    first: npt.NDArray[np.int16]
    second: npt.NDArray[np.int16]
    """Distinct adjacent pairs in order of appearance."""
    previous: npt.NDArray[np.int64]
    following: npt.NDArray[np.int64]
    """Index of the pair that ends where this one begins, or begins where it ends, if it was counted before; or -1."""
    scraps: Scraps


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Score:
    donor: Donor
    groups: int
    pairs: int
    bits: float


def tally(text: str, own: Prompt, live: LiveIndex) -> tuple[FragmentTally, ...]:
    """Fragment evidence per tenant, strongest first; tenants of whom nothing at all was found are left out.

    Compares with the latest 128 live prompts except the probe's own. What stands in the own prompt counts nothing.
    Words count only for a slice that exactly one live tenant's numbered lines use, and not the own prompt.
    """
    donors = [donor for donor in live.donors() if donor.canary != own.canary]
    if not donors or not text:
        return ()
    answer = _answer(text, live.donor_of(own))
    words = _word_bits(answer, donors, own, live)
    by_tenant: dict[int, list[_Score]] = {}
    for donor in donors:
        by_tenant.setdefault(donor.canary.tenant_number, []).append(_score(answer, donor, live))
    tallies = []
    for tenant, scores in by_tenant.items():
        exclusive, bits = words.get(tenant, (0, 0.0))
        if exclusive or any(score.groups or score.pairs for score in scores):
            tallies.append(_tally(tenant, scores, exclusive, bits - math.log2(len(donors))))
    return tuple(sorted(tallies, key=lambda found: (-found.evidence_bits, found.tenant_number)))
