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
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from prober.domain.prompt import Prompt
from prober.domain.reading import FragmentTally
from prober.prompt.alphabet import BASE_RATES, SYMBOLS
from prober.prompt.code_scraps import Scraps, scraps_of
from prober.prompt.donor_index import NO_SLICE
from prober.prompt.donor_scores import Scores
from prober.prompt.donors import Donor, alphabet_words, pairs_of
from prober.prompt.e_values import draw_bits
from prober.prompt.live import LiveIndex
from prober.prompt.normalised import visible_ascii
from prober.prompt.numbered_lines import SLICE_WORDS, slice_number
from prober.prompt.wording import IS_WORDING

_CLEARLY_BITS: Final = 1.0
"""A single probe is named when its fragments say twice as much as those of the tenant's next one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Answer:
    """Fragments of an answer that stand neither in the answering probe's own prompt nor in the fixed wording."""

    words: npt.NDArray[np.int16]
    """Distinct alphabet words."""
    own_words: int
    """Distinct alphabet words of the own prompt, left out above."""
    pairs: npt.NDArray[np.uint32]
    """Distinct adjacent pairs in order of appearance."""
    scraps: Scraps


def tally(text: str, own: Prompt, live: LiveIndex) -> tuple[FragmentTally, ...]:
    """Fragment evidence per tenant, strongest first; tenants of whom nothing at all was found are left out.

    Compares with the latest 128 live prompts except the probe's own. What stands in the own prompt counts nothing.
    Words count only for a slice that exactly one live tenant's numbered lines use.
    """
    if not text:
        return ()
    answer = _answer(text, live.donor_of(own))
    scores = Scores(answer.pairs, answer.scraps, live, own.canary)
    words = _slice_evidence(answer, _exclusive_tenants(live, own), live)
    tenants = scores.matched_tenants() | {tenant for tenant, (count, _) in words.items() if count}
    tallies = [_tally(tenant, scores, *words.get(tenant, (0, 0.0))) for tenant in tenants]
    found = [each for each in tallies if each.exclusive_words or each.groups or each.pairs]
    return tuple(sorted(found, key=lambda each: (-each.evidence_bits, each.tenant_number)))


def _answer(text: str, own: Donor) -> _Answer:
    visible = visible_ascii(text)
    words = alphabet_words(visible)
    pairs = _in_order(pairs_of(words))
    wording_pair = IS_WORDING[pairs // SYMBOLS] & IS_WORDING[pairs % SYMBOLS]
    words = _in_order(words[words >= 0])
    return _Answer(
        words=words[~own.words[words] & ~IS_WORDING[words]],
        own_words=int(np.count_nonzero(own.words | IS_WORDING)),
        pairs=pairs[~own.pairs.contains(pairs) & ~wording_pair],
        scraps=scraps_of(visible, own.codes),
    )


_Number = TypeVar("_Number", np.int16, np.uint32)


def _in_order(values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Distinct values in order of appearance."""
    _, first = np.unique(values, return_index=True)
    return values[np.sort(first)]


def _exclusive_tenants(live: LiveIndex, own: Prompt) -> set[int]:
    """Foreign tenants with numbered lines whose slice no other such tenant uses."""
    roster = live.fragments.roster
    tenants = set(roster.tenants[roster.slices != NO_SLICE].tolist()) - {own.canary.tenant_number}
    slices = [slice_number(tenant) for tenant in tenants]
    return {tenant for tenant in tenants if slices.count(slice_number(tenant)) == 1}


def _slice_evidence(answer: _Answer, tenants: set[int], live: LiveIndex) -> dict[int, tuple[int, float]]:
    """Words of each tenant's slice, and log2 e-value of all distinct words being drawn from it.

    A word of the slice is 1 / (128 * bound) times as likely from the donor, any other 0 times. The bound is the
    word's base rate, or one among the alphabet's words not yet seen and not left out, whichever is larger.
    """
    left = SYMBOLS - answer.own_words - len(answer.words)
    ratio = 1 / (SLICE_WORDS * np.maximum(BASE_RATES[answer.words], 1 / max(1, left)))
    of_none = 0, draw_bits(np.zeros(len(ratio)))
    evidence = {}
    for tenant in tenants:
        in_slice = live.slice_words(tenant)[answer.words]
        count = int(np.count_nonzero(in_slice))
        evidence[tenant] = (count, draw_bits(np.where(in_slice, ratio, 0.0))) if count else of_none
    return evidence


def _tally(tenant: int, scores: Scores, words: int, word_bits: float) -> FragmentTally:
    best, rival_bits = scores.best_of(tenant)
    is_clear = scores.is_matched[best] and scores.bits[best] >= rival_bits + _CLEARLY_BITS
    return FragmentTally(
        tenant_number=tenant,
        canary=scores.canary_of(best) if is_clear else None,
        groups=int(scores.groups[best]),
        pairs=int(scores.pairs[best]),
        exclusive_words=words,
        evidence_bits=max(0.0, word_bits + float(scores.bits[best]) - math.log2(scores.donors)),
    )
