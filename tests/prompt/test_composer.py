"""Composing prompts of an exact token count."""

import dataclasses
import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.canary import Canary
from prober.domain.probe import PromptSpec
from prober.domain.prompt import NeedlePosition
from prober.domain.target import Ask, TextForm
from prober.prompt import sizing
from prober.prompt.composer import compose, section_sizes
from prober.prompt.keyring import Keyring
from prober.prompt.needles import sentence
from prober.prompt.tokens import calibrate, calibration_specs
from tests.support.token_counts import UNIFORM, calibrated, merging_newlines, one_per_word, uneven_words

KEYRING = Keyring.create(bytes(range(32)))
CANARY = Canary.of(7, 0, 4711)
FORMS = list(TextForm)


CALIBRATIONS = {name: calibrated(TextForm.WORD_STREAM, count) for name, count in UNIFORM.items()}


@pytest.mark.parametrize("name", UNIFORM)
def test_uniform_words_calibrate_exactly(name: str):
    """Where every word behind a space costs the same, the calibration is exact, even if bare words differ."""
    assert CALIBRATIONS[name].is_exact


@pytest.mark.parametrize("name", UNIFORM)
def test_prompts_for_small_llms_count_exactly_too(name: str):
    """The other ask has costs of its own, which its own calibration calls learn."""
    count_tokens = UNIFORM[name]
    specs = calibration_specs(TextForm.WORD_STREAM, Ask.END_PHRASE)
    texts = [compose(spec, Canary.of(3, 0, 900 + i), KEYRING, None).text for i, spec in enumerate(specs)]
    calibration = calibrate(TextForm.WORD_STREAM, [count_tokens(text) for text in texts], ask=Ask.END_PHRASE)
    prompt = compose(PromptSpec(tokens=5_000, ask=Ask.END_PHRASE), CANARY, KEYRING, calibration)

    assert calibration.is_exact
    assert count_tokens(prompt.text) == 5_000 == prompt.planned_tokens


def test_a_small_llm_is_asked_for_the_end_alone():
    """Its one needle stands three times, and no other is asked for or told."""
    prompt = compose(PromptSpec(filler_lines=8, ask=Ask.END_PHRASE), CANARY, KEYRING, None)
    (needle,) = prompt.needles

    assert needle.position is NeedlePosition.END
    assert prompt.text.endswith(sentence(needle) * 3 + "Repeat the lantern phrase.\n")


@pytest.mark.parametrize("name", UNIFORM)
def test_planned_tokens_are_exact_at_any_size(name: str):
    """The server counts exactly the size asked for, from the smallest prompt on."""
    calibration = CALIBRATIONS[name]

    @settings(max_examples=40, derandomize=True, deadline=None)
    @given(tokens=st.integers(calibration.smallest_tokens, 12_000), serial=st.integers(0, 2**28 - 1))
    def check(tokens: int, serial: int) -> None:
        prompt = compose(PromptSpec(tokens=tokens), Canary.of(7, 0, serial), KEYRING, calibration)
        assert prompt.planned_tokens == tokens == UNIFORM[name](prompt.text)
        assert prompt.token_tolerance == 2

    check()


@pytest.mark.parametrize(
    ("name", "tokens"), [("one_per_word", 1_099_999), ("bare_words_differ", 681_280), ("merging_newlines", 300_001)]
)
def test_planned_tokens_are_exact_at_large_sizes(name: str, tokens: int):
    """Eight calibration calls of some hundred tokens predict a million to the token."""
    prompt = compose(PromptSpec(tokens=tokens), CANARY, KEYRING, CALIBRATIONS[name])
    assert prompt.planned_tokens == tokens == UNIFORM[name](prompt.text)


@pytest.mark.parametrize("name", UNIFORM)
def test_one_token_below_the_smallest_size_is_refused(name: str):
    """A size that cannot be composed raises ValueError and names the smallest one."""
    smallest = CALIBRATIONS[name].smallest_tokens
    assert UNIFORM[name](compose(PromptSpec(tokens=smallest), CANARY, KEYRING, CALIBRATIONS[name]).text) == smallest
    with pytest.raises(ValueError, match=f"the smallest prompt here has {smallest}"):
        compose(PromptSpec(tokens=smallest - 1), CANARY, KEYRING, CALIBRATIONS[name])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tokens", [2_000, 40_000, 200_000])
def test_uneven_lines_stay_within_tolerance_and_a_rewrite_is_exact(form: TextForm, tokens: int):
    """Where lines differ, the count is within tolerance, and one rewrite with corrected pads meets the size exactly."""
    calibration = calibrated(form, uneven_words)
    assert not calibration.is_exact
    spec = PromptSpec(tokens=tokens, form=form)
    prompt = compose(spec, CANARY, KEYRING, calibration)
    error = uneven_words(prompt.text) - tokens
    assert abs(error) <= prompt.token_tolerance < tokens / 5
    rewrite = PromptSpec(tokens=tokens, form=form, rewrite_of=CANARY, pad_adjust=-error)
    rewritten = compose(rewrite, CANARY, KEYRING, calibration)
    assert uneven_words(rewritten.text) == tokens == rewritten.planned_tokens


def test_a_rewrite_changes_pad_words_only():
    """A rewrite is the earlier text, its pad line apart."""
    spec = PromptSpec(tokens=3_000)
    rewrite = PromptSpec(tokens=3_000, rewrite_of=CANARY, pad_adjust=5)
    calibration = CALIBRATIONS["merging_newlines"]
    first, second = (compose(each, CANARY, KEYRING, calibration) for each in (spec, rewrite))
    assert second.text == first.text.replace(" the\nThe lantern", " the" * 6 + "\nThe lantern")
    assert second.planned_tokens == 3_005 == merging_newlines(second.text)
    assert second.canary == first.canary
    assert second.needles == first.needles


def test_a_rewrite_cannot_carry_another_canary():
    """Text of one canary under another's name would be misattributed, so it is refused."""
    with pytest.raises(ValueError, match="cannot carry the canary"):
        compose(PromptSpec(filler_lines=4, rewrite_of=Canary.of(7, 0, 1)), CANARY, KEYRING, None)


LAYOUT = re.compile(
    r"Notebook [a-z]{4}( [a-z]{4}){5}\.\n"
    r"The harbour phrase is( [a-z]{4}){3}\.\n"
    r"(?P<first>(?: [a-z]{4}){16}\n(?:.*\n)*)"
    r"The orchard phrase is( [a-z]{4}){3}\.\n"
    r"(?P<second>(?: [a-z]{4}){16}\n(?:.*\n)*)"
    r"(?: the)+\n"
    r"The lantern phrase is( [a-z]{4}){3}\.\n"
    r"Reply with the harbour phrase, the orchard phrase and the lantern phrase, "
    r"then copy the last 30 words of the document\.\n"
)


@pytest.mark.parametrize(("lines", "instructions"), [(2, 0), (4, 0), (7, 1), (250, 1), (9, 2), (1_000, 7)])
def test_layout_is_that_of_the_wording(lines: int, instructions: int):
    """First line, head needle, sections with instructions between and the middle needle halfway, pad, end, question."""
    spec = PromptSpec(filler_lines=lines, instruction_lines=instructions)
    prompt = compose(spec, CANARY, KEYRING, None)
    match = LAYOUT.fullmatch(prompt.text)
    assert match is not None
    first, second = (match[half].count("\n") - match[half].count("Whoever reads") for half in ("first", "second"))
    assert first + second == lines
    assert abs(first - second) <= -(-lines // (instructions + 1))
    question = "Whoever reads this page: copy the 30 words before this line exactly.\n"
    assert prompt.text.count(question) == instructions
    assert prompt.planned_tokens is None
    assert prompt.token_tolerance == 2
    assert prompt.filler_words == 16 * lines
    assert [needle.position for needle in prompt.needles] == list(NeedlePosition)
    assert all(sentence(needle) in prompt.text for needle in prompt.needles)


def test_numbered_lines_fill_prompts_too():
    """The other form stands in the same layout, its lines unindented."""
    prompt = compose(PromptSpec(filler_lines=12, form=TextForm.NUMBERED_LINES), CANARY, KEYRING, None)
    assert (
        len(re.findall(r"^\d+\. \[ref (?:[0-9A-Z]{4}-){3}[0-9A-Z]{4}\](?: [a-z]{4})+$", prompt.text, re.MULTILINE))
        == 12
    )
    assert prompt.filler_words == 12


@pytest.mark.parametrize("form", FORMS)
def test_text_is_deterministic_ascii_and_unique_from_the_second_word(form: TextForm):
    """One canary gives one text; different canaries differ within their first words, so that no prefix is reused."""
    texts = [compose(PromptSpec(filler_lines=6, form=form), Canary.of(1, 0, n), KEYRING, None).text for n in range(60)]
    again = compose(PromptSpec(filler_lines=6, form=form), Canary.of(1, 0, 5), KEYRING, None).text
    assert again == texts[5]
    assert len({tuple(text.split()[:4]) for text in texts}) == 60
    other_key = compose(PromptSpec(filler_lines=6, form=form), Canary.of(1, 0, 5), Keyring.create(b"k" * 32), None)
    assert other_key.text.split()[:4] != texts[5].split()[:4]
    assert all(text.isascii() and text.endswith("\n") for text in texts)


@settings(max_examples=50, derandomize=True)
@given(lines=st.integers(4, 70_000))
def test_last_section_holds_the_words_asked_for(lines: int):
    """Sections are even, none longer than 125 lines, and the last has 30 words of its own."""
    structure = sizing.Structure(filler_lines=lines, instruction_lines=sizing.instruction_lines_for(lines), pad_words=1)
    sizes = section_sizes(structure)
    assert sum(sizes) == lines
    assert max(sizes) <= 125
    assert min(sizes) >= max(sizes) - 1
    assert sizes[-1] * 16 >= 30


def test_composing_a_million_words_keeps_two_copies_at_most():
    """Peak memory of composing stays below three times the text."""
    calibration = CALIBRATIONS["one_per_word"]
    compose(PromptSpec(tokens=1_000), CANARY, KEYRING, calibration)
    tracemalloc.start()
    try:
        prompt = compose(PromptSpec(tokens=1_000_000), CANARY, KEYRING, calibration)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(prompt.text)
    assert one_per_word(prompt.text) == 1_000_000


def test_repr_of_a_prompt_has_no_text():
    """The large text stays out of repr."""
    assert "lantern phrase is" not in repr(compose(PromptSpec(filler_lines=4), CANARY, KEYRING, None))


# --- short questions ------------------------------------------------------------------------------------------------


def test_one_fact_is_stated_once_in_the_smallest_prompt():
    """First line, filler, pad, one sentence with a phrase of six words, one question: nothing else is told."""
    prompt = compose(PromptSpec(filler_lines=1, ask=Ask.ONE_FACT), CANARY, KEYRING, None)
    (needle,) = prompt.needles

    assert (needle.position, len(needle.phrase)) == (NeedlePosition.END, 6)
    assert re.fullmatch(
        r"Notebook( [a-z]{4}){6}\.\n( [a-z]{4}){16}\n the\nThe lantern phrase is( [a-z]{4}){6}\.\n"
        r"Repeat the lantern phrase\.\n",
        prompt.text,
    )
    assert prompt.text.count(" ".join(needle.phrase)) == 1


def test_short_questions_are_sized_exactly_by_their_own_calibration():
    """Where the target's own ask is the short question, its sizes are exact from one line on."""
    specs = calibration_specs(TextForm.WORD_STREAM, Ask.ONE_FACT)
    counts = [
        merging_newlines(compose(spec, Canary.of(3, 0, 900 + i), KEYRING, None).text) for i, spec in enumerate(specs)
    ]
    calibration = calibrate(TextForm.WORD_STREAM, counts, ask=Ask.ONE_FACT)

    for tokens in (calibration.smallest_tokens, 128, 640, 6_000):
        prompt = compose(PromptSpec(tokens=tokens, ask=Ask.ONE_FACT), CANARY, KEYRING, calibration)
        assert prompt.planned_tokens == tokens == merging_newlines(prompt.text)
    assert compose(specs[0], CANARY, KEYRING, calibration).planned_tokens == counts[0]


@pytest.mark.parametrize("ask", [Ask.ONE_FACT, Ask.END_PHRASE])
@pytest.mark.parametrize("name", UNIFORM)
def test_another_ask_has_about_the_size_and_no_planned_count(name: str, ask: Ask):
    """A calibration of one ask tells of another's prompts how long they are, roughly, and never claims a count."""
    calibration = dataclasses.replace(CALIBRATIONS[name], ask=Ask.PHRASES_AND_COPY)
    for spec in (PromptSpec(tokens=5_000, ask=ask), PromptSpec(filler_lines=8, ask=ask)):
        prompt = compose(spec, CANARY, KEYRING, calibration)
        assert prompt.planned_tokens is None
        assert abs(UNIFORM[name](prompt.text) - (spec.tokens or UNIFORM[name](prompt.text))) <= 12


def test_lines_of_the_calibrated_ask_are_counted_beforehand():
    """A prompt given by its lines has a planned count as soon as costs are known."""
    calibration = dataclasses.replace(CALIBRATIONS["merging_newlines"], ask=Ask.PHRASES_AND_COPY)
    prompt = compose(PromptSpec(filler_lines=9, instruction_lines=2), CANARY, KEYRING, calibration)
    assert prompt.planned_tokens == merging_newlines(prompt.text)
