"""Phrases of live probes in answers."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.canary import Canary
from prober.domain.prompt import Needle, NeedlePosition
from prober.prompt.alphabet import WORDS
from prober.prompt.keyed_words import keyed_words
from prober.prompt.needles import needles_for
from prober.prompt.normalised import letters_of, visible_ascii
from prober.prompt.phrases import PhraseIndex
from tests.support.canary_text import KEYRING, MANGLINGS

CROWD = [Canary.of(serial % 2048, 0, serial * 7919) for serial in range(300)]


def phrase(*words: str) -> Needle:
    return Needle(position=NeedlePosition.END, noun="lantern", phrase=words)


def holding(canaries: list[Canary], words: int = 3) -> PhraseIndex:
    index = PhraseIndex()
    for canary in canaries:
        index.remember(canary, needles_for(KEYRING, canary, tuple(NeedlePosition), words))
    return index


def found(index: PhraseIndex, text: str) -> dict[Canary, set[bytes]]:
    return index.find(letters_of(visible_ascii(text))).by_canary


INDEX = {3: holding(CROWD), 6: holding(CROWD, 6)}


@pytest.mark.parametrize("kind", MANGLINGS)
@pytest.mark.parametrize("words", [3, 6])
def test_a_phrase_is_found_whatever_stands_between_its_letters(words: int, kind: str):
    """However an answer writes the words of one phrase, they name its probe, and no other."""
    victim = CROWD[77]
    needle = needles_for(KEYRING, victim, (NeedlePosition.MIDDLE,), words)[0]
    text = f"It says 12 {MANGLINGS[kind](list(needle.phrase))}, I think."
    assert found(INDEX[words], text) == {victim: {"".join(needle.phrase).encode("ascii")}}


@settings(max_examples=60, derandomize=True)
@given(number=st.integers(0, 299), cut=st.integers(1, 5))
def test_part_of_a_phrase_is_none(number: int, cut: int):
    """Fewer words than the whole phrase accuse nobody."""
    needle = needles_for(KEYRING, CROWD[number], (NeedlePosition.END,), 6)[0]
    assert found(INDEX[6], " ".join(needle.phrase[:cut])) == {}


@pytest.mark.parametrize("lead", [0, 1, 2, 3, 65_530, 65_535, 65_536, 65_537])
def test_where_a_long_text_is_cut_leaves_no_trace(lead: int):
    """A phrase is found once, at any offset of a long text, and places are counted once."""
    needle = needles_for(KEYRING, CROWD[5], (NeedlePosition.HEAD,))[0]
    letters = b"q" * lead + "".join(needle.phrase).encode("ascii") + b"q" * 70_000
    finds = INDEX[3].find(letters)
    assert list(finds.by_canary) == [CROWD[5]]
    assert finds.places == 1


def test_places_are_stretches_of_three_alphabet_words():
    """Each place where a phrase could begin counts, in other words none."""
    ten = "".join(WORDS[100:110]).encode("ascii")
    assert PhraseIndex().find(ten).places >= 8
    assert INDEX[3].find(b"qqqq" * 30).places == 0
    assert INDEX[3].find(b"able").places == 0


def test_a_phrase_that_two_probes_share_names_none():
    """Where it cannot be told whose it is, nobody is accused; the rest of both is still told apart."""
    index = PhraseIndex()
    index.remember(CROWD[0], [phrase("able", "acid", "acts"), phrase("alum", "anew", "apex")])
    index.remember(CROWD[1], [phrase("able", "acid", "acts")])
    index.remember(CROWD[2], [phrase("able", "acid", "acts", "arab", "arch", "aunt")])
    assert found(index, "able acid acts; alum anew apex") == {CROWD[0]: {b"alumanewapex"}}
    index.forget(CROWD[1])
    assert CROWD[0] in found(index, "able acid acts")


def test_remembering_again_replaces_and_forgetting_leaves_nothing():
    """A probe's latest phrases are held, and what is forgotten is found no more."""
    index = PhraseIndex()
    for words in (("able", "acid", "acts"), ("alum", "anew", "apex")):
        index.remember(CROWD[0], [phrase(*words)])
    assert found(index, "able acid acts") == {}
    assert found(index, "alum anew apex") == {CROWD[0]: {b"alumanewapex"}}
    assert (index.held, int(index.word_uses.sum())) == (1, 3)
    index.forget(CROWD[0])
    index.forget(CROWD[0])
    assert (index.held, int(index.word_uses.sum()), dict(index._by_opening)) == (0, 0, {})


@pytest.mark.parametrize(
    ("phrases", "places", "bits"),
    [
        ([b"a" * 12], 30, 33 - math.log2(900) - math.log2(30)),
        ([b"a" * 24], 30, 66 - math.log2(900) - math.log2(30)),
        ([b"a" * 12, b"b" * 12], 30, 66 - math.log2(900) - 2 * math.log2(30)),
    ],
)
def test_evidence_takes_phrases_held_and_places_tried_off(phrases: list[bytes], places: int, bits: float):
    """Bits are eleven a word, less what was tried; 900 phrases are held here."""
    assert INDEX[3].evidence_bits(phrases, places) == pytest.approx(bits)


@pytest.mark.no_coverage
def test_false_attribution_stays_below_its_bound():
    """Answers with the openings of true phrases and a random word more reach b bits no oftener than 2**-b.

    Random words alone would take years to hit 33 bits, so two words of each phrase are given away: what is left are 11.
    """
    rng, hits, trials = random.Random(3), 0, 4_000
    for _ in range(trials):
        canary = Canary.of(1, 0, rng.randrange(2**28))
        index = PhraseIndex()
        index.remember(canary, needles_for(KEYRING, canary, (NeedlePosition.END,)))
        given_away = keyed_words(KEYRING, canary, "needle end", 2)
        hits += bool(found(index, " ".join((*given_away, rng.choice(WORDS)))))
    expected = trials / 2048
    assert hits <= expected + 3 * expected**0.5
