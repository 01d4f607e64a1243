"""The index of live probes."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.canary import Canary
from prober.domain.errors import KeyringError
from prober.domain.options import RequestOptions
from prober.domain.probe import PromptSpec
from prober.domain.target import Ask, TextForm
from prober.prompt.alphabet import WORDS
from prober.prompt.composer import compose
from prober.prompt.donor_index import FRAGMENT_DONORS
from prober.prompt.live import LiveIndex
from prober.prompt.normalised import letters_of
from prober.prompt.numbered_lines import slice_number, slice_of_words
from prober.prompt.stream_code import block_symbols, mixing_table
from prober.prompt.stream_symbols import symbols_of
from tests.support.canary_text import KEYRING, filler, prompt_of

CANARY = Canary.of(42, 0, 0x0123456)
SECTION = filler(CANARY, [125])


def remembering(*canaries: Canary, capacity: int = 10_000) -> LiveIndex:
    index = LiveIndex(KEYRING, capacity)
    for canary in canaries:
        index.remember(prompt_of(canary, 2), TextForm.WORD_STREAM)
    return index


def matched(index: LiveIndex, text: str) -> set[Canary]:
    symbols = symbols_of(letters_of(text.encode("ascii")), mixing_table(KEYRING))
    return {match.canary for match in index.match(symbols, symbols.windows(5))}


CROWD = [Canary.of(serial % 2048, 0, serial * 7919) for serial in range(500)]
INDEX = remembering(*CROWD, CANARY)


@pytest.mark.no_coverage
@settings(max_examples=300, derandomize=True)
@given(st.integers(0, len(SECTION) - 38))
def test_any_38_characters_name_a_live_probe(start: int):
    """Cut anywhere within a section, 38 characters suffice for a live probe, among hundreds of others."""
    assert matched(INDEX, SECTION[start : start + 38]) == {CANARY}


def test_a_probe_that_is_not_live_is_not_matched():
    """Text of a probe that was never remembered fits none of the live ones."""
    assert matched(remembering(*CROWD), SECTION) == set()


def test_position_is_told_where_the_window_holds_it():
    """Windows that contain the counter tell where in the donor they stood."""
    symbols = symbols_of(SECTION.replace(" ", "").replace("\n", "").encode("ascii"), mixing_table(KEYRING))
    matches = list(INDEX.match(symbols, symbols.windows(5)))
    assert len(matches) == 2000 - 6
    assert {match.block for match in matches} == {None, *range(222)}
    assert sum(match.block is None for match in matches) < len(matches) / 2


def test_random_words_match_nobody():
    """Word salad fits no live probe."""
    rng = random.Random(2)
    assert matched(INDEX, " ".join(rng.choices(WORDS, k=50_000))) == set()


def test_the_oldest_is_forgotten_first():
    """Beyond its capacity the index drops its oldest probes, and what it drops it no longer matches."""
    index = remembering(CANARY, *CROWD[:3], capacity=3)
    assert len(index) == 3
    assert not index.knows(CANARY)
    assert matched(index, SECTION) == set()
    assert index.knows(CROWD[0])
    assert matched(index, filler(CROWD[0], [4])) == {CROWD[0]}


def test_remembering_again_renews():
    """A probe that is sent again counts as new."""
    index = remembering(CANARY, CROWD[0], CANARY, CROWD[1], capacity=2)
    assert index.knows(CANARY)
    assert not index.knows(CROWD[0])
    assert [donor.canary for donor in index.donors()] == [CANARY, CROWD[1]]


def test_much_forgetting_keeps_matching():
    """After many times its capacity the index still matches what it holds, and its filter has not filled up."""
    index = remembering(*CROWD, CANARY, capacity=20)
    assert matched(index, SECTION) == {CANARY}
    assert len(index) == 20
    assert index._filter.sum() <= 2 * 20 * 9


def ambiguous_pair() -> tuple[Canary, Canary]:
    """Two probes of one tenant that agree in the low 22 bits of the serial and in the last tag symbol."""
    seen: dict[int, Canary] = {}
    for high in range(64):
        for low in range(64):
            canary = Canary.of(9, 0, high << 22 | low)
            key = block_symbols(KEYRING, canary)[7] << 22 | low
            if key in seen:
                return seen[key], canary
            seen[key] = canary
    pytest.fail("no pair found")


def test_a_window_that_fits_two_probes_names_none():
    """Where two live probes share a window it accuses neither, and other windows still tell them apart."""
    first, second = ambiguous_pair()
    index = remembering(first, second)
    text = filler(first, [2]).split()
    # Words 7..13 carry the symbols tag 3, position, tenant, probe 0, probe 1.
    assert matched(index, " ".join(text[5:12])) == set()
    assert matched(remembering(first), " ".join(text[5:12])) == {first}
    assert matched(index, " ".join(text)) == {first}


def test_forgetting_one_of_an_ambiguous_pair_does_no_harm():
    """The shared window stays silent and the rest of the survivor's windows stay known."""
    first, second = ambiguous_pair()
    index = remembering(first, second, CROWD[0], capacity=2)
    assert matched(index, filler(second, [4])) == {second}
    assert matched(index, filler(first, [4])) <= {second}


def test_donors_are_bounded():
    """Fragments of the latest prompts only are kept."""
    index = remembering(*CROWD[: FRAGMENT_DONORS + 5])
    assert [donor.canary for donor in index.donors()] == CROWD[5 : FRAGMENT_DONORS + 5]
    assert len(index) == FRAGMENT_DONORS + 5


@pytest.mark.parametrize("form", list(TextForm))
def test_a_prompt_that_is_not_held_is_taken_apart_anew(form: TextForm):
    """The own prompt's fragments are known even when the index has dropped or never held it."""
    prompt = prompt_of(CANARY, 5, form=form)
    index = LiveIndex(KEYRING)
    anew = index.donor_of(prompt)
    index.remember(prompt, form)
    held = index.donor_of(prompt)
    assert held is index.donors()[0]
    assert (anew.form, anew.codes, anew.pairs.count) == (held.form, held.codes, held.pairs.count)


def test_slice_of_a_tenant():
    """The words that a tenant's numbered lines may use."""
    assert INDEX.slice_words(33).tolist() == (slice_of_words(KEYRING) == slice_number(33)).tolist()


def test_faults_of_the_caller_are_refused():
    """No capacity, or a canary under an unknown key, is an error, and leaves the index as it was."""
    with pytest.raises(ValueError, match="capacity"):
        LiveIndex(KEYRING, 0)
    index = LiveIndex(KEYRING)
    later = KEYRING.rotate(bytes(32))
    with pytest.raises(KeyringError):
        index.remember(prompt_of(Canary.of(1, 1, 1), 1, keyring=later), TextForm.WORD_STREAM)
    assert len(index) == 0
    assert index.donors() == ()


FACT = PromptSpec(filler_lines=1, ask=Ask.ONE_FACT)


def test_phrases_and_choices_live_as_long_as_their_probe():
    """They are held from remembering on, replaced with a newer request of the same text, and forgotten with it."""
    index = LiveIndex(KEYRING, 2)
    prompts = [compose(FACT, canary, KEYRING, None) for canary in CROWD[:3]]
    letters = "".join(prompts[0].needles[0].phrase).encode("ascii")
    for prompt in prompts[:2]:
        index.remember(prompt, TextForm.WORD_STREAM, RequestOptions(choices=(f"choice {prompt.canary}",)))
    assert list(index.phrases.find(letters).by_canary) == [CROWD[0]]
    assert list(index.choices.begun(f"choice {CROWD[0]}", CANARY)) == [f"choice {CROWD[0]}"]
    index.remember(prompts[0], TextForm.WORD_STREAM)
    assert list(index.choices.begun(f"choice {CROWD[0]}", CANARY)) == []
    index.remember(prompts[2], TextForm.WORD_STREAM)
    assert list(index.choices.begun(f"choice {CROWD[1]}", CANARY)) == []
    assert (index.phrases.held, len(index)) == (2, 2)
    index.remember(compose(FACT, CROWD[3], KEYRING, None), TextForm.WORD_STREAM)
    assert index.phrases.find(letters).by_canary == {}


def test_a_prompt_taken_apart_anew_is_not_taken_apart_twice():
    """Reading asks several times for a prompt that is not held: it is taken apart once, until another is asked for."""
    index, first, second = LiveIndex(KEYRING), prompt_of(CANARY, 5), prompt_of(CROWD[0], 5)
    anew = index.donor_of(first)
    assert index.donor_of(first) is anew
    assert index.donor_of(second).canary == CROWD[0]
    assert index.donor_of(first) is not anew
