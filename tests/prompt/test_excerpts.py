"""Which parts of an answer go to the vault."""

import dataclasses
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prober.domain.canary import Canary
from prober.domain.excerpt import Channel, ExcerptBounds
from prober.domain.observation import Observation
from prober.domain.probe import PromptSpec
from prober.domain.prompt import Prompt
from prober.domain.target import TextForm
from prober.prompt.composer import compose
from prober.prompt.excerpts import MOST_SCANNED, foreign_excerpts
from prober.prompt.keyring import Keyring
from tests.support.evidence import an_observation

KEYRING = Keyring.create(bytes(range(32)))
CUSTOMER = "Dear Mrs Mustermann, your IBAN is DE89 3704 0044 0532 0130 00 and the diagnosis: Lupus"


def composed(serial: int, lines: int = 20, form: TextForm = TextForm.WORD_STREAM) -> Prompt:
    spec = PromptSpec(filler_lines=lines, instruction_lines=1, form=form)
    return compose(spec, Canary.of(1, 0, serial), KEYRING, None)


OWN = composed(1)
OTHER = composed(2)


def cut(content: str = "", own: Prompt = OWN, *, bounds: ExcerptBounds | None = None, **texts: str) -> list[str]:
    observation = an_observation(text=content, **texts)
    return [excerpt.text for excerpt in foreign_excerpts(observation, own, bounds or ExcerptBounds())]


def line_of(prompt: Prompt, number: int) -> str:
    return prompt.text.splitlines()[number]


def phrases(prompt: Prompt) -> str:
    return ", ".join(f"the {needle.noun} phrase is {' '.join(needle.phrase)}" for needle in prompt.needles)


@pytest.mark.parametrize("form", list(TextForm))
def test_an_honest_answer_holds_nothing_foreign(form: TextForm):
    """Phrases, copied filler and the words around them are ours: nothing is kept of them, however they are written."""
    own = composed(1, form=form)
    copied = own.text.splitlines()[5:9]
    answer = f"Here are the final access phrases: {phrases(own)}.\n\n" + "\n".join(copied)

    assert cut(answer, own) == []
    assert cut(answer.upper(), own) == []
    assert cut(own.text, own) == []
    assert cut("", own) == []


def test_a_customers_text_is_cut_out_between_our_own():
    """What stands between our own words is kept whole, and nothing of ours with it."""
    answer = f"{line_of(OWN, 4)} {CUSTOMER}. {line_of(OWN, 6)}"

    assert cut(answer) == [CUSTOMER]


def test_another_prompts_filler_is_foreign_though_its_words_are_ours():
    """Single words of the alphabet stand in every long prompt; what accuses is their order."""
    own = composed(1, lines=2_000)
    foreign = line_of(OTHER, 4)
    assert set(foreign.split()) <= set(own.text.replace(".", " ").split())

    [kept] = cut(f"{line_of(own, 700)} {foreign}", own)

    assert set(kept.split()) >= set(foreign.split()[2:])


def test_our_sentences_words_are_foreign_among_foreign_words_only():
    """A customer's text is not torn apart by its `the` and `is`; a `the` by itself is nobody's."""
    assert cut("the phrase is") == []
    assert cut(f"{line_of(OWN, 4)} the {line_of(OWN, 6)}") == []
    assert cut("Mustermann is the patient") == ["Mustermann is the patient"]


@pytest.mark.parametrize(("field", "channel"), [("reasoning", Channel.REASONING), ("other_text", Channel.OTHER)])
def test_every_channel_is_looked_at(field: str, channel: Channel):
    """A leak may stand in reasoning, or in an error's body; the excerpt says where."""
    observation = an_observation(text="", **{field: f"\n {CUSTOMER}"})

    [excerpt] = foreign_excerpts(observation, OWN, ExcerptBounds())

    assert (excerpt.channel, excerpt.start, excerpt.text) == (channel, 2, CUSTOMER)


def test_bounds_hold_and_the_longest_stretches_go_first():
    """One excerpt is cut to its bound, all of a finding's together to theirs, in the answer's order."""
    between = f" {line_of(OWN, 4)} "
    answer = between.join(["short secret", "x" * 50 + " " + "y" * 50, "middling secret items"])

    assert cut(answer, bounds=ExcerptBounds(excerpt=30, finding=1_000)) == [
        "short secret",
        "x" * 30,
        "middling secret items",
    ]
    assert cut(answer, bounds=ExcerptBounds(excerpt=30, finding=40)) == ["x" * 30, "middling s"]
    assert cut(answer, bounds=ExcerptBounds(excerpt=30, finding=30)) == ["x" * 30]


@given(st.text(max_size=400), st.text(max_size=100), st.integers(1, 50), st.integers(1, 120))
def test_whatever_comes_back_is_bounded_and_in_its_place(content: str, reasoning: str, each: int, together: int):
    """Any text gives excerpts that stand in it where they say, within both bounds."""
    observation = an_observation(text=content, reasoning=reasoning)
    excerpts = foreign_excerpts(observation, OWN, ExcerptBounds(excerpt=each, finding=together))

    channels = {Channel.CONTENT: content, Channel.REASONING: reasoning}
    assert all(channels[e.channel][e.start :].startswith(e.text) and e.text for e in excerpts)
    assert all(len(e.text) <= each for e in excerpts)
    assert sum(len(e.text) for e in excerpts) <= together


def test_two_words_of_our_own_are_ours():
    """An answer shorter than three words is compared as it is."""
    phrase = OWN.needles[0].phrase
    assert cut(" ".join(phrase[:2])) == []
    assert cut("Mustermann Lupus") == ["Mustermann Lupus"]


def test_an_excerpt_does_not_show_itself():
    """`repr` goes into logs and tracebacks."""
    [excerpt] = foreign_excerpts(an_observation(text=CUSTOMER), OWN, ExcerptBounds())

    assert "Mustermann" not in repr(excerpt)


def test_a_million_tokens_of_prompt_and_a_hostile_answer_take_seconds():
    """Finding the foreign part of any answer costs one pass over the prompt, and no more than a bound of the answer."""
    own = dataclasses.replace(OWN, text=OWN.text + "able acid aged also area army away baby back ball " * 100_000)
    answer = f"{CUSTOMER} " * 100_000
    assert len(answer) > 10 * MOST_SCANNED

    began = time.process_time()
    kept = foreign_excerpts(Observation(sent_at=an_observation().sent_at, text=answer), own, ExcerptBounds())

    assert len(kept[0].text) == 400
    assert time.process_time() - began < 10
