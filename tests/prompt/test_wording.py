"""Sentences of the prompt."""

import pytest

from prober.domain.prompt import NeedlePosition
from prober.prompt.wording import (
    FUNCTION_WORDS,
    INSTRUCTION_LINE,
    NOUNS,
    VOCABULARY,
    closing_question,
    first_line,
    needle_sentence,
    pad_line,
)


@pytest.mark.parametrize(
    ("nouns", "expected"),
    [
        (["harbour"], "the harbour phrase, then"),
        (["harbour", "orchard"], "the harbour phrase and the orchard phrase, then"),
        (["harbour", "orchard", "lantern"], "the harbour phrase, the orchard phrase and the lantern phrase, then"),
    ],
)
def test_closing_question_names_the_nouns(nouns: list[str], expected: str):
    """The question repeats each needle's own key words and asks for the last 30 words."""
    assert closing_question(nouns) == f"Reply with {expected} copy the last 30 words of the document.\n"


def test_every_line_ends_in_one_newline():
    """Lines end in newlines, which makes token counts additive."""
    lines = [
        first_line(["able"]),
        needle_sentence("harbour", ["able", "acid", "acts"]),
        closing_question(["harbour"]),
        INSTRUCTION_LINE,
        pad_line(3),
    ]
    assert all(line.count("\n") == 1 and line.endswith("\n") for line in lines)
    assert pad_line(3) == " the the the\n"


def test_nouns_are_distinct_and_in_the_vocabulary():
    """Each position has a noun of its own, and an answer may use it."""
    assert len(set(NOUNS.values())) == len(NeedlePosition)
    assert {*NOUNS.values(), "whoever", "notebook", "reply", "the"} | FUNCTION_WORDS <= VOCABULARY
