"""Free answers under somebody else's constraint."""

import pytest

from prober.detect.detectors.vocabulary import NEIGHBOURS, detect_vocabulary
from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.mark import AnswerMark
from prober.domain.options import RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.probe import PromptSpec
from prober.domain.reading import Garble
from prober.domain.target import TextForm
from tests.support.evidence import ALL_MISSED, a_history, a_mark, a_probe, a_reading, a_target, an_evidence

CONSTRAINED = a_mark(options=RequestOptions(choices=("amber lamp",)))
BIASED = a_mark(options=RequestOptions(favoured_token=7))
CHOSEN = {"foreign_choice": "amber lamp", "letters": 9, "characters": 10}
MARKS = {"letters": 0, "characters": 64}
REPEATED = {
    "letters": 300,
    "words": 50,
    "garble": Garble(longest_loop=290, repeated_words=49),
    "characters": 300,
}
PASTED = {**REPEATED, "words": 1, "garble": Garble(longest_loop=290)}


def judged(*marks: AnswerMark, scores: dict[str, float] | None = None, reading: dict[str, object], **parts: object):
    reading = {"recall": ALL_MISSED, "letters": 50, "characters": 60, **reading}
    given = {"reading": a_reading(**reading), "history": a_history(*marks, scores=scores or {})}
    return detect_vocabulary(an_evidence(**{**given, **parts}))


@pytest.mark.parametrize(("scores", "outcome"), [({}, Outcome.SUSPECT), ({"choices": 1.0}, Outcome.VIOLATION)])
def test_the_choice_of_another_request_is_suspect_and_a_second_one_a_violation(
    scores: dict[str, float], outcome: Outcome
):
    """A free answer says its own phrase; it cannot know what others were held to."""
    (finding,) = judged(scores=scores, reading=CHOSEN)

    assert (finding.reason, finding.outcome) == (Reason.VOCABULARY_COLLAPSED, outcome)
    assert finding.is_confirmed is (outcome is Outcome.VIOLATION)
    assert "amber lamp" in finding.message


@pytest.mark.parametrize("neighbour", [CONSTRAINED, BIASED])
@pytest.mark.parametrize(
    ("reading", "is_found"),
    [
        (MARKS, True),
        (REPEATED, True),
        ({**MARKS, "characters": 7}, False),
        ({**MARKS, "letters": 31}, True),
        ({**MARKS, "letters": 32}, False),
        ({"letters": 19, "digits": 12, "characters": 40}, True),
        ({"letters": 30, "digits": 7, "characters": 40}, False),
        (PASTED, True),
        ({**REPEATED, "garble": Garble(longest_loop=149, repeated_words=49)}, False),
        ({**REPEATED, "garble": Garble(longest_loop=290, repeated_words=24)}, False),
        ({**MARKS, "is_refusal_like": True}, False),
        ({}, False),
    ],
)
def test_an_answer_of_no_words_is_suspect_beside_constrained_ones(
    neighbour: AnswerMark, reading: dict[str, object], *, is_found: bool
):
    """Exclamation marks, digits for words, or one word over and over; honest loops are of phrases."""
    found = judged(neighbour, a_mark(), reading=reading)

    assert [(f.reason, f.outcome) for f in found] == (
        [(Reason.VOCABULARY_COLLAPSED, Outcome.SUSPECT)] if is_found else []
    )


def test_reasoning_counts_among_characters_and_codes_among_digits():
    """A thinking LLM's answer is mostly reasoning, whose letters are not counted; numbered lines are full of digits."""
    numbered = a_probe(prompt=PromptSpec(tokens=1, form=TextForm.NUMBERED_LINES))
    digital = {"letters": 30, "digits": 30, "characters": 70}

    assert judged(CONSTRAINED, reading={**MARKS, "letters": 9}, target=a_target(thinking=True)) == ()
    assert judged(CONSTRAINED, reading=digital) != ()
    assert judged(CONSTRAINED, reading=digital, probe=numbered) == ()


def test_without_constrained_neighbours_garble_speaks():
    """Only the latest answers may have shared a batch."""
    assert judged(a_mark(), reading=MARKS) == ()
    assert judged(CONSTRAINED, *[a_mark()] * NEIGHBOURS, reading=MARKS) == ()
    assert judged(CONSTRAINED, *[a_mark()] * (NEIGHBOURS - 1), reading=MARKS) != ()


@pytest.mark.parametrize("reading", [CHOSEN, MARKS])
@pytest.mark.parametrize(
    "parts",
    [
        {"history": a_history(CONSTRAINED, is_recall_proven=False)},
        {"answer": Answer.EMPTY},
        {"probe": a_probe(options=RequestOptions(choices=("amber lamp",)))},
        {"probe": a_probe(options=RequestOptions(favoured_token=7))},
    ],
)
def test_constrained_answers_and_llms_that_cannot_do_the_task_stay_out(
    reading: dict[str, object], parts: dict[str, object]
):
    """What we asked for is no collapse."""
    assert judged(CONSTRAINED, reading=reading, **parts) == ()


def test_an_answer_that_knows_its_phrase_is_free():
    """It may begin with any word; what takes up half of it all the same came late to the row."""
    known = a_reading().recall

    assert judged(CONSTRAINED, reading={**CHOSEN, "recall": known}) == ()
    assert judged(CONSTRAINED, reading={**REPEATED, "recall": known}) != ()
