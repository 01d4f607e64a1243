"""Reading answers."""

import dataclasses
import hashlib
import time

import pytest

from prober.domain.canary import Canary
from prober.domain.options import RequestOptions
from prober.domain.probe import PromptSpec
from prober.domain.prompt import NeedlePosition, Prompt
from prober.domain.reading import Garble, Reading, Tier
from prober.domain.target import Ask, TextForm
from prober.prompt.composer import compose
from prober.prompt.keyring import Keyring
from prober.prompt.live import LiveIndex
from prober.prompt.needles import sentence
from prober.prompt.novelty import words_of
from prober.prompt.reading import read
from prober.prompt.signature import signature

KEYRING = Keyring.create(bytes(range(32)))
SPEC = PromptSpec(filler_lines=40, instruction_lines=1)
OWN = compose(SPEC, Canary.of(1, 0, 101), KEYRING, None)
VICTIM = compose(SPEC, Canary.of(2, 0, 202), KEYRING, None)
ALL = tuple(NeedlePosition)
SECRET = "Dear Mrs Hoffmann, the invoice about your liver operation was charged twice. " * 8


def filler(prompt: Prompt, words: int) -> list[str]:
    return " ".join(line.strip() for line in prompt.text.splitlines() if line.startswith(" ")).split(" ", words)[:words]


def live(*prompts: Prompt) -> LiveIndex:
    index = LiveIndex(KEYRING)
    for prompt in prompts:
        index.remember(prompt, TextForm.WORD_STREAM)
    return index


def compliant(prompt: Prompt) -> str:
    return "".join(sentence(needle) for needle in prompt.needles) + " ".join(filler(prompt, 30))


def test_a_compliant_answer_reads_clean():
    """Recalled phrases and own filler: all needles found, own canary seen, nothing foreign, nothing novel."""
    reading = read(compliant(OWN), "", OWN, KEYRING, live(OWN, VICTIM))
    assert reading.recall.found == ALL == reading.recall.asked
    assert [(sighting.tier, sighting.canary) for sighting in reading.own] == [(Tier.CODE, OWN.canary)]
    assert reading.foreign == ()
    assert (reading.words, reading.novel_words, reading.longest_novel_run) == (3 * 7 + 30, 0, 0)
    assert reading.novelty == 0.0
    assert not reading.is_refusal_like


def test_a_victims_text_is_foreign_and_misses_every_needle():
    """Another prompt's filler is attributed to it, with no recall of our own phrases."""
    reading = read(" ".join(filler(VICTIM, 30)), "", OWN, KEYRING, live(OWN, VICTIM))
    assert reading.foreign[0].canary == VICTIM.canary
    assert reading.foreign[0].tier is Tier.CODE
    assert reading.own == ()
    assert reading.recall.is_all_missed
    assert reading.novel_words == 0


def test_a_twins_echo_is_never_foreign():
    """Text of our own prompt that another probe sent as well stands in our own prompt, so it is no leak."""
    twin = dataclasses.replace(VICTIM, canary=OWN.canary, text=OWN.text + VICTIM.text)
    reading = read(" ".join(filler(VICTIM, 30)), "", twin, KEYRING, live(VICTIM))
    assert reading.foreign == ()


def test_reasoning_is_read_like_content():
    """Needles and canaries count in either channel, and words of both are added up."""
    content, reasoning = sentence(OWN.needles[2]), "Thinking carefully. " + " ".join(filler(VICTIM, 30))
    reading = read(content, reasoning, OWN, KEYRING, live(OWN, VICTIM))
    assert reading.recall.found == (NeedlePosition.END,)
    assert reading.foreign[0].canary == VICTIM.canary
    assert (reading.words, reading.characters) == (7 + 32, len(content) + len(reasoning))
    assert (reading.novel_words, reading.longest_novel_run) == (2, 2)
    assert reading.sha256 == hashlib.sha256((content + reasoning).encode()).hexdigest()


def test_novel_runs_do_not_join_across_channels():
    """The longest novel run lies within one channel."""
    reading = read("able invoice quarterly", "numbers differ entirely", OWN, KEYRING, live(OWN))
    assert (reading.novel_words, reading.longest_novel_run) == (5, 3)


@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_answer_has_no_words_and_no_recall(content: str):
    """Nothing said is nothing found: all needles missed, novelty 0."""
    reading = read(content, "", OWN, KEYRING, live(OWN))
    assert (reading.words, reading.novelty, reading.own, reading.foreign) == (0, 0.0, (), ())
    assert reading.recall.is_all_missed
    assert reading.characters == len(content)
    assert reading.sha256 == hashlib.sha256(content.encode()).hexdigest()


@pytest.mark.parametrize(
    ("content", "reasoning", "expected"),
    [
        ("I'm sorry, I can't help with that.", "", True),
        ("", "I cannot see a document.", True),
        ("able acid acts", "I cannot see a document.", False),
        (SECRET, "", False),
    ],
)
def test_refusals_are_told_from_answers(content: str, reasoning: str, *, expected: bool):
    """The answer's content decides; reasoning only where there is no content."""
    assert read(content, reasoning, OWN, KEYRING, live(OWN)).is_refusal_like is expected


def test_lone_surrogates_are_read():
    """What a broken server sends is data, never an error."""
    assert read("able \ud800 acid", "", OWN, KEYRING, live(OWN)).words == 2


def test_a_foreign_letter_is_novel_and_leaves_no_word_behind():
    """A customer's text gives counts and a hash; not one of its words is in the reading."""
    reading = read(SECRET, SECRET, OWN, KEYRING, live(OWN, VICTIM))
    assert reading.novelty > 0.6
    assert reading.longest_novel_run >= 5
    assert isinstance(reading, Reading)
    assert not any(word in repr(reading) for word in ("Hoffmann", "liver", "invoice", "operation"))


def test_errors_are_searched_for_canaries_and_for_nothing_else():
    """A donor's words in an error body are foreign; phrases, words and hash are the answer's alone."""
    leak = " ".join(filler(VICTIM, 40))
    error = f"Input is too long: {leak}\n{compliant(OWN)}"

    reading = read("", "", OWN, KEYRING, live(OWN, VICTIM), other=error)

    assert [sighting.canary for sighting in reading.foreign] == [VICTIM.canary]
    assert reading.recall.found == ()
    assert dataclasses.replace(reading, own=(), foreign=(), fragments=()) == read("", "", OWN, KEYRING, live())


def test_errors_and_answers_are_read_together():
    """Both an answer and the error that cut it short are searched."""
    content, error = " ".join(filler(VICTIM, 40)), " ".join(filler(OWN, 40))
    reading = read(content, "", OWN, KEYRING, live(OWN, VICTIM), other=error)
    assert [sighting.canary for sighting in reading.foreign] == [VICTIM.canary]
    assert [sighting.canary for sighting in reading.own] == [OWN.canary]


def test_signs_of_garble_are_counted_in_both_channels():
    """Scripts, replacement characters, loops and doubled words of content and reasoning are in the reading."""
    reading = read("\u041f\ufffd so so", "\u4e2d !!!!!!!! \ufffd", OWN, KEYRING, live(OWN))
    assert reading.garble == Garble(scripts=2, replacements=2, longest_loop=8, doubled_words=1, repeated_words=1)
    assert read("", "", OWN, KEYRING, live(OWN)).garble == Garble()


def test_likeness_and_characters_are_the_contents_alone():
    """Signature, letters, digits and a repeated opening say nothing of the reasoning."""
    opening = "The lantern phrase is able acid acts, as you asked. "
    content = f"{opening}\u0416 42 {opening}"
    reading = read(content, compliant(OWN), OWN, KEYRING, live(OWN))
    assert reading.signature == signature(words_of(content))
    assert (reading.letters, reading.digits) == (2 * sum(map(str.isalpha, opening)), 2)
    assert reading.repeats_opening
    assert not read(opening, "", OWN, KEYRING, live(OWN)).repeats_opening


CHOOSING = RequestOptions(choices=("crimson", "indigo"))


@pytest.mark.parametrize(
    ("content", "own_choice", "foreign_choice"),
    [
        ("crimson", True, ""),
        (' "indigo"\n', True, ""),
        ("crimson and more", False, ""),
        ("scarlet", False, "scarlet"),
        ('"scarlet", it says', False, "scarlet"),
        ("azure", False, ""),
        ("", False, ""),
    ],
)
def test_choices(content: str, foreign_choice: str, *, own_choice: bool):
    """An answer is one of the own choices, or keeps to another live probe's, or neither."""
    index = live(OWN)
    index.remember(VICTIM, TextForm.WORD_STREAM, RequestOptions(choices=("scarlet", "crimson")))
    reading = read(content, "", OWN, KEYRING, index, options=CHOOSING)
    assert (reading.is_own_choice, reading.foreign_choice) == (own_choice, foreign_choice)


def test_a_choice_that_the_own_prompt_holds_is_no_foreign_one():
    """Who was asked to repeat a word may begin with it, though another probe was made to choose it."""
    index, word = live(OWN), OWN.needles[0].phrase[0]
    index.remember(VICTIM, TextForm.WORD_STREAM, RequestOptions(choices=(word,)))
    assert read(word, "", OWN, KEYRING, index).foreign_choice == ""
    assert read(word, "", VICTIM, KEYRING, index).foreign_choice == ""


def test_another_prompts_phrase_is_read():
    """A misdelivered short answer is attributed, and its words counted as strays."""
    own, other = (
        compose(PromptSpec(filler_lines=2, ask=Ask.ONE_FACT), Canary.of(tenant, 0, 7), KEYRING, None)
        for tenant in (1, 2)
    )
    answer = " ".join(other.needles[0].phrase)
    reading = read(answer, "", own, KEYRING, live(own, other))
    assert [(sighting.tier, sighting.canary) for sighting in reading.foreign] == [(Tier.PHRASE, other.canary)]
    assert reading.stray_words == sum(word not in own.text for word in other.needles[0].phrase)
    assert read(" ".join(own.needles[0].phrase), "", own, KEYRING, live(own, other)).recall.missed == ()


@pytest.mark.no_coverage
def test_reading_costs_little_however_many_probes_are_live():
    """128 fragment donors and thousands of phrases cost no more than a few times what none cost."""
    own, crowded = OWN, live(OWN)
    for serial in range(1_000):
        spec = PromptSpec(filler_lines=2, ask=Ask.ONE_FACT)
        crowded.remember(compose(spec, Canary.of(serial % 9, 0, serial), KEYRING, None), TextForm.WORD_STREAM)
    alone, among = (cheapest(own, index) for index in (live(own), crowded))
    assert among < 3 * alone + 0.002


def cheapest(own: Prompt, index: LiveIndex) -> float:
    """Least processor seconds of reading one answer."""
    answer, seconds = compliant(own), []
    for _ in range(15):
        began = time.thread_time()
        read(answer, "", own, KEYRING, index)
        seconds.append(time.thread_time() - began)
    return min(seconds)
