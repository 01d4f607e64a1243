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
from collections.abc import Sequence
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from prober.domain.prompt import Prompt
from prober.domain.reading import FragmentTally
from prober.domain.target import TextForm
from prober.prompt.alphabet import BASE_RATES, SYMBOLS, WORDS
from prober.prompt.code_scraps import Scraps, code_bits, scraps_of
from prober.prompt.donors import PAIRS, Donor, alphabet_words, pairs_of
from prober.prompt.e_values import draw_bits, match_bits
from prober.prompt.live import LiveIndex
from prober.prompt.normalised import visible_ascii
from prober.prompt.numbered_lines import SLICE_WORDS, slice_number
from prober.prompt.wording import VOCABULARY

_WORDING: Final = np.array([word in VOCABULARY for word in WORDS])
"""Words of the fixed wording stand in all prompts and prove nothing."""
_NEIGHBOUR_MARGIN: Final = 2
"""A matched pair stands in its donor once or, seldom, a few times: each place grants its neighbours one chance."""
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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Score:
    """How well one donor explains an answer's pairs and groups."""

    donor: Donor
    groups: int
    pairs: int
    bits: float


def tally(text: str, own: Prompt, live: LiveIndex) -> tuple[FragmentTally, ...]:
    """Fragment evidence per tenant, strongest first; tenants of whom nothing at all was found are left out.

    Compares with the latest 128 live prompts except the probe's own. What stands in the own prompt counts nothing.
    Words count only for a slice that exactly one live tenant's numbered lines use.
    """
    donors = [donor for donor in live.donors() if donor.canary != own.canary]
    if not donors or not text:
        return ()
    answer = _answer(text, live.donor_of(own))
    by_tenant: dict[int, list[_Score]] = {}
    for donor in donors:
        by_tenant.setdefault(donor.canary.tenant_number, []).append(_score(answer, donor, live))
    exclusive = _exclusive_tenants(donors, own)
    tallies = []
    for tenant, scores in by_tenant.items():
        words, word_bits = _slice_evidence(answer, tenant, live) if tenant in exclusive else (0, 0.0)
        best = max(scores, key=lambda score: score.bits)
        if words or best.groups or best.pairs:
            bits = word_bits + best.bits - math.log2(len(donors))
            tallies.append(_tally(tenant, best, scores, words, bits))
    return tuple(sorted(tallies, key=lambda found: (-found.evidence_bits, found.tenant_number)))


def _answer(text: str, own: Donor) -> _Answer:
    visible = visible_ascii(text)
    words = alphabet_words(visible)
    pairs = _in_order(pairs_of(words))
    wording_pair = _WORDING[pairs // SYMBOLS] & _WORDING[pairs % SYMBOLS]
    words = _in_order(words[words >= 0])
    return _Answer(
        words=words[~own.words[words] & ~_WORDING[words]],
        own_words=int(np.count_nonzero(own.words | _WORDING)),
        pairs=pairs[~own.pairs.contains(pairs) & ~wording_pair],
        scraps=scraps_of(visible, own.codes),
    )


_Number = TypeVar("_Number", np.int16, np.uint32)


def _in_order(values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Distinct values in order of appearance."""
    _, first = np.unique(values, return_index=True)
    return values[np.sort(first)]


def _score(answer: _Answer, donor: Donor, live: LiveIndex) -> _Score:
    pairs, choices, next_words = answer.pairs, PAIRS, SYMBOLS
    if donor.form is TextForm.NUMBERED_LINES:
        # Its words all come from one slice, so only pairs within that slice tell anything, and less.
        in_slice = live.slice_words(donor.canary.tenant_number)
        pairs = pairs[in_slice[pairs // SYMBOLS] & in_slice[pairs % SYMBOLS]]
        choices, next_words = SLICE_WORDS**2, SLICE_WORDS
    matched = donor.pairs.contains(pairs)
    chance = donor.pairs.count / choices + _matched_neighbours(pairs, matched) * (_NEIGHBOUR_MARGIN / next_words)
    groups, group_bits = code_bits(answer.scraps, donor.codes)
    pair_bits = match_bits(matched, np.minimum(1.0, chance))
    return _Score(donor=donor, groups=groups, pairs=int(np.count_nonzero(matched)), bits=pair_bits + group_bits)


def _matched_neighbours(pairs: npt.NDArray[np.uint32], matched: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Sides (0..2) on which a pair goes on from an earlier matched one: they may share a place in the donor."""
    first, second = pairs // SYMBOLS, pairs % SYMBOLS
    order = np.arange(len(pairs))
    ends_in, begins_with = np.full(SYMBOLS, len(pairs)), np.full(SYMBOLS, len(pairs))
    np.minimum.at(ends_in, second[matched], order[matched])
    np.minimum.at(begins_with, first[matched], order[matched])
    sides: npt.NDArray[np.int64] = (ends_in[first] < order).astype(np.int64) + (begins_with[second] < order)
    return sides


def _exclusive_tenants(donors: Sequence[Donor], own: Prompt) -> set[int]:
    """Foreign tenants with numbered lines whose slice no other such tenant uses."""
    tenants = {donor.canary.tenant_number for donor in donors if donor.form is TextForm.NUMBERED_LINES}
    tenants.discard(own.canary.tenant_number)
    slices = [slice_number(tenant) for tenant in tenants]
    return {tenant for tenant in tenants if slices.count(slice_number(tenant)) == 1}


def _slice_evidence(answer: _Answer, tenant: int, live: LiveIndex) -> tuple[int, float]:
    """Words of the tenant's slice, and log2 e-value of all distinct words being drawn from it.

    A word of the slice is 1 / (128 * bound) times as likely from the donor, any other 0 times. The bound is the
    word's base rate, or one among the alphabet's words not yet seen and not left out, whichever is larger.
    """
    in_slice = live.slice_words(tenant)[answer.words]
    left = SYMBOLS - answer.own_words - len(answer.words)
    bound = np.maximum(BASE_RATES[answer.words], 1 / max(1, left))
    return int(np.count_nonzero(in_slice)), draw_bits(np.where(in_slice, 1 / (SLICE_WORDS * bound), 0.0))


def _tally(tenant: int, best: _Score, scores: Sequence[_Score], words: int, bits: float) -> FragmentTally:
    rivals = [score.bits for score in scores if score is not best]
    is_clear = bool(best.groups or best.pairs) and best.bits >= max(rivals, default=0.0) + _CLEARLY_BITS
    return FragmentTally(
        tenant_number=tenant,
        canary=best.donor.canary if is_clear else None,
        groups=best.groups,
        pairs=best.pairs,
        exclusive_words=words,
        evidence_bits=max(0.0, bits),
    )
