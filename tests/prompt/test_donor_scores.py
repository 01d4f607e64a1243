"""Figures of all donors at once."""

import random

import numpy as np
import pytest

from prober.domain.canary import Canary
from prober.domain.target import TextForm
from prober.prompt import donor_scores
from prober.prompt.alphabet import SYMBOLS, WORDS
from prober.prompt.code_scraps import code_bits, scraps_of
from prober.prompt.donor_scores import Scores
from prober.prompt.donors import PAIRS, Donor, alphabet_words, pairs_of
from prober.prompt.e_values import match_bits
from prober.prompt.live import LiveIndex
from prober.prompt.numbered_lines import SLICE_WORDS
from tests.support.canary_text import KEYRING, prompt_of

OWN = Canary.of(9, 0, 9)


def live_with(count: int, *, lines: int = 12) -> LiveIndex:
    live = LiveIndex(KEYRING)
    for serial in range(count):
        form = list(TextForm)[serial % 2]
        canary = OWN if serial == 3 else Canary.of(serial % 7, 0, serial)
        live.remember(prompt_of(canary, lines, form=form), form)
    return live


def answer_of(live: LiveIndex, rng: random.Random) -> str:
    """Scraps of several donors, among strange words and groups."""
    parts = rng.choices(WORDS, k=20)
    for donor in rng.choices(live.donors(), k=4):
        text = prompt_of(donor.canary, 12, form=donor.form).text.split()
        start = rng.randrange(len(text) - 5)
        parts += text[start : start + rng.randrange(2, 6)]
    return " ".join(parts)


def one_by_one(donor: Donor, pairs: np.ndarray, text: str, live: LiveIndex) -> tuple[int, int, float]:
    """Groups, pairs and bits of one donor, each pair and its neighbours looked at by itself."""
    choices, next_words = PAIRS, SYMBOLS
    if donor.form is TextForm.NUMBERED_LINES:
        in_slice = live.slice_words(donor.canary.tenant_number)
        pairs = pairs[in_slice[pairs // SYMBOLS] & in_slice[pairs % SYMBOLS]]
        choices, next_words = SLICE_WORDS**2, SLICE_WORDS
    matched = donor.pairs.contains(pairs)
    chance = np.full(len(pairs), donor.pairs.count / choices)
    for at, pair in enumerate(pairs.tolist()):
        earlier = [other for other, hit in zip(pairs[:at].tolist(), matched[:at], strict=True) if hit]
        sides = any(other % SYMBOLS == pair // SYMBOLS for other in earlier)
        sides += any(other // SYMBOLS == pair % SYMBOLS for other in earlier)
        chance[at] += sides * 2 / next_words
    groups, group_bits = code_bits(scraps_of(text.lower().encode("ascii"), ()), donor.codes)
    return groups, int(np.count_nonzero(matched)), group_bits + match_bits(matched, np.minimum(1.0, chance))


@pytest.mark.parametrize("at_once", [1, 1 << 15])
@pytest.mark.parametrize("seed", range(12))
def test_all_donors_score_as_each_by_itself(monkeypatch: pytest.MonkeyPatch, seed: int, at_once: int):
    """Donors with and without a common fragment get the figures of a comparison one by one, in parts or at once."""
    monkeypatch.setattr(donor_scores, "_TRIALS_AT_ONCE", at_once)
    live, rng = live_with(30), random.Random(seed)
    text = answer_of(live, rng)
    visible = text.lower().encode("ascii")
    pairs = np.array(list(dict.fromkeys(pairs_of(alphabet_words(visible)).tolist())), np.uint32)
    scores = Scores(pairs, scraps_of(visible, ()), live, OWN)
    for row, donor in enumerate(live.donors()):
        groups, found, bits = one_by_one(donor, pairs, text, live)
        assert (scores.groups[row], scores.pairs[row]) == (groups, found)
        assert scores.bits[row] == pytest.approx(bits)
        assert scores.canary_of(row) == donor.canary
        assert scores.is_matched[row] == (donor.canary != OWN and bool(groups or found))
    assert scores.donors == 29


def test_the_best_of_a_tenant_and_its_next_one():
    """The strongest donor stands for its tenant, the next one's bits beside it; a lone one has none beside it."""
    live = LiveIndex(KEYRING)
    prompts = [prompt_of(Canary.of(tenant, 0, serial), 20) for tenant, serial in ((2, 1), (2, 2), (3, 3))]
    for prompt in prompts:
        live.remember(prompt, TextForm.WORD_STREAM)
    words = alphabet_words(prompts[1].text[:60].encode("ascii"))
    scores = Scores(pairs_of(words), scraps_of(b"", ()), live, OWN)
    best, next_bits = scores.best_of(2)
    assert scores.matched_tenants() == {2}
    assert scores.canary_of(best) == prompts[1].canary
    assert next_bits == scores.bits[0] < 0 < scores.bits[best]
    assert scores.best_of(3) == (2, 0.0)


def test_nothing_to_compare_is_no_evidence():
    """Without pairs and groups all donors have nothing, and nobody is matched."""
    scores = Scores(np.empty(0, np.uint32), scraps_of(b"", ()), live_with(5), OWN)
    assert scores.bits.tolist() == [0.0] * 5
    assert scores.matched_tenants() == set()
