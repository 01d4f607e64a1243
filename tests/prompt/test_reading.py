"""Reading answers."""

import dataclasses
import hashlib

import pytest

from prober.domain.canary import Canary
from prober.domain.probe import PromptSpec
from prober.domain.prompt import NeedlePosition, Prompt
from prober.domain.reading import Reading, Tier
from prober.domain.target import TextForm
from prober.prompt.composer import compose
from prober.prompt.keyring import Keyring
from prober.prompt.live import LiveIndex
from prober.prompt.needles import sentence
from prober.prompt.reading import read

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
