"""Phrases of other probes in answers, and answers of probes that share text."""

import math
import random

import pytest

from prober.domain.canary import Canary
from prober.domain.probe import PromptSpec, SharedPlace, SharedText
from prober.domain.prompt import Prompt
from prober.domain.reading import Sighting, Tier
from prober.domain.target import Ask, TextForm
from prober.prompt.composer import compose
from prober.prompt.live import LiveIndex
from prober.prompt.sightings import PAGE_BITS, foreign_and_own
from tests.support.canary_text import KEYRING, NOISE_KINDS, live_of, noisy, prompt_of

FACT = PromptSpec(filler_lines=2, ask=Ask.ONE_FACT)
OWN, VICTIM = (compose(FACT, Canary.of(tenant, 0, tenant), KEYRING, None) for tenant in (1, 2))
LIVE = live_of(OWN, VICTIM)


def sentence(prompt: Prompt) -> str:
    return f"The lantern phrase is {' '.join(prompt.needles[-1].phrase)}."


def foreign(text: str, own: Prompt = OWN, live: LiveIndex = LIVE) -> tuple[Sighting, ...]:
    return foreign_and_own(text, own, KEYRING, live)[1]


def test_the_answer_to_another_prompt_names_that_prompt():
    """One fact of six words, delivered to the wrong probe, is attributed with enough evidence to page."""
    (sighting,) = foreign(sentence(VICTIM))
    assert (sighting.tier, sighting.canary, sighting.is_live) == (Tier.PHRASE, VICTIM.canary, True)
    assert (sighting.windows, sighting.first_block, sighting.last_block) == (1, None, None)
    assert sighting.evidence_bits > PAGE_BITS
    places = LIVE.phrases.find(sentence(VICTIM).lower().replace(" ", "").replace(".", "").encode()).places
    assert sighting.evidence_bits == pytest.approx(66 - math.log2(2) - math.log2(places))


def test_phrases_of_three_words_add_up():
    """One phrase of three words tells little, all three of a prompt page."""
    spec = PromptSpec(filler_lines=4)
    prompts = [compose(spec, Canary.of(tenant, 0, 70 + tenant), KEYRING, None) for tenant in range(20)]
    live, victim = live_of(*prompts), prompts[7]
    (one,) = foreign(sentence(victim), prompts[0], live)
    (three,) = foreign(" and ".join(" ".join(needle.phrase) for needle in victim.needles), prompts[0], live)
    assert one.canary == three.canary == victim.canary
    assert (one.windows, three.windows) == (1, 3)
    assert 15 < one.evidence_bits < 33
    assert three.evidence_bits > 60


def test_the_own_phrase_is_recall_and_no_sighting():
    """What the probe was asked for accuses nobody, and is no echo of its filler either."""
    assert foreign_and_own(sentence(OWN), OWN, KEYRING, LIVE) == ((), ())


def test_a_phrase_in_the_own_prompt_is_never_foreign():
    """A prompt that holds another's sentence on purpose may repeat it."""
    both = Prompt(
        canary=OWN.canary,
        text=f"{OWN.text}{sentence(VICTIM)}",
        needles=OWN.needles,
        filler_words=0,
        planned_tokens=None,
        token_tolerance=2,
    )
    assert foreign(sentence(VICTIM), both) == ()


def test_a_replay_by_another_tenant_accuses_nobody():
    """The very text of an earlier prompt, sent again by somebody else, is answered with its own phrase."""
    live = live_of(OWN, VICTIM, VICTIM)
    assert foreign(sentence(VICTIM), VICTIM, live) == ()


def test_a_phrase_beside_decoded_windows_is_one_sighting():
    """A canary is named once, by its strongest tier, whatever else of it stands there."""
    filler = " ".join(VICTIM.text.split()[8:23])
    (sighting,) = foreign(f"{filler} and {sentence(VICTIM)}")
    assert (sighting.tier, sighting.windows) == (Tier.CODE, 5)
    (alone,) = foreign(filler)
    assert sighting.evidence_bits >= alone.evidence_bits
    words = " ".join(VICTIM.text.split()[8:15])
    (short,) = foreign(f"{words} and {sentence(VICTIM)}")
    assert (short.tier, short.windows) == (Tier.LIVE, 1)


def test_a_phrase_of_a_forgotten_probe_is_nobodys():
    """Phrases carry no tag: only those held can be told."""
    assert foreign(sentence(VICTIM), OWN, live_of(OWN)) == ()


def test_many_phrases_accuse_as_many_as_are_looked_at():
    """An answer that holds half of all prompts names dozens of them, and takes no time to speak of."""
    prompts = [compose(FACT, Canary.of(3, 0, serial), KEYRING, None) for serial in range(200)]
    found = foreign(" ".join(map(sentence, prompts)), OWN, live_of(OWN, *prompts))
    assert len(found) == 64
    assert {sighting.canary for sighting in found} <= {prompt.canary for prompt in prompts}


# --- shared text ----------------------------------------------------------------------------------------------------

SOURCE, SHARER = Canary.of(2, 0, 20), Canary.of(5, 0, 50)
LINES = 40


def sharing(canary: Canary, form: TextForm, place: SharedPlace) -> Prompt:
    shared = SharedText(source=SOURCE, lines=LINES, place=place)
    return compose(PromptSpec(filler_lines=LINES + 20, form=form, shared=shared), canary, KEYRING, None)


def both(form: TextForm, place: SharedPlace = SharedPlace.PREFIX) -> tuple[Prompt, Prompt, LiveIndex]:
    source, sharer = (sharing(canary, form, place) for canary in (SOURCE, SHARER))
    live = LiveIndex(KEYRING)
    for prompt in (source, sharer):
        live.remember(prompt, form)
    return source, sharer, live


def shared_words(prompt: Prompt) -> list[str]:
    return prompt.text[: prompt.text.index("Notebook")].split()


@pytest.mark.parametrize("form", list(TextForm))
@pytest.mark.parametrize("place", list(SharedPlace))
def test_an_echo_of_the_whole_prompt_accuses_nobody(form: TextForm, place: SharedPlace):
    """Shared text in the own prompt is never foreign, whoever it came from."""
    source, sharer, live = both(form, place)
    for prompt in (source, sharer):
        own, foreign_ones = foreign_and_own(prompt.text, prompt, KEYRING, live)
        assert [sighting.canary for sighting in own] == [prompt.canary]
        assert foreign_ones == ()


@pytest.mark.parametrize("kind", NOISE_KINDS)
@pytest.mark.parametrize("form", list(TextForm))
def test_a_faulty_copy_of_shared_text_accuses_nobody(form: TextForm, kind: str):
    """Wrong, missing, added and misspelt words of an echo never look like the source's own text."""
    _, sharer, live = both(form)
    rng, words = random.Random(kind), shared_words(sharer)
    for rate in [0.02, 0.08, 0.3] * 25:
        start = rng.randrange(len(words) - 90)
        assert foreign(" ".join(noisy(words[start : start + 90], rate, kind, rng)), sharer, live) == ()


@pytest.mark.parametrize("form", list(TextForm))
def test_the_sources_own_text_is_foreign_to_those_who_share(form: TextForm):
    """A page of the source's own filler is named in a sharer's answer, even beside shared text."""
    source, sharer, live = both(form)
    own_part = source.text[source.text.index("harbour") :].split()[9:100]
    for text in (own_part[:60], [*shared_words(sharer)[:60], *own_part[:60]]):
        (sighting,) = foreign(" ".join(text), sharer, live)
        assert (sighting.canary, sighting.tier) == (SOURCE, Tier.CODE)
        assert sighting.evidence_bits > PAGE_BITS


def test_shared_text_in_a_stranger_s_answer_names_its_source():
    """Who does not share it must not see it."""
    _, sharer, _ = both(TextForm.WORD_STREAM)
    stranger = prompt_of(Canary.of(6, 0, 6))
    (sighting,) = foreign(" ".join(shared_words(sharer)[:30]), stranger, live_of(stranger))
    assert (sighting.canary, sighting.is_live) == (SOURCE, False)
