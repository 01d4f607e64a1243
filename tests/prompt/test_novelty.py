"""Closed-world word counts."""

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.prompt import NeedlePosition
from prober.prompt.alphabet import WORDS
from prober.prompt.novelty import Novelty, novelty, words_of
from prober.prompt.wording import INSTRUCTION_LINE, NOUNS, closing_question, first_line, needle_sentence


def counts(words: int, novel: int, longest: int) -> Novelty:
    return Novelty(words=words, novel_words=novel, longest_novel_run=longest)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", counts(0, 0, 0)),
        ("42 -- 7!", counts(0, 0, 0)),
        ("able acid acts", counts(3, 0, 0)),
        ("ABLE, Acid; \uff41\uff43\uff54\uff53", counts(3, 0, 0)),
        ("ab\u200ble ac-\nid", counts(2, 0, 0)),
        ("able\\nacid \\u0061ble", counts(3, 1, 1)),
        ("The harbour phrase is able acid acts.", counts(7, 0, 0)),
        ("invoice", counts(1, 1, 1)),
        ("able invoice number acid quarterly acts", counts(6, 3, 2)),
        ("000012. [ref 7F3K-92QX-KMEH-0000] able acid", counts(3, 0, 0)),
        ("7F3K-92 able K2 user_name", counts(1, 0, 0)),
        ("xyzzy-plugh", counts(2, 2, 2)),
        ("weir-qxzv", counts(2, 2, 2)),
        ("the", counts(1, 0, 0)),
        ("able the acid", counts(3, 0, 0)),
        ("invoice of the acid", counts(4, 3, 3)),
        ("able of the invoice", counts(4, 3, 3)),
        ("invoice of the quarter", counts(4, 4, 4)),
        ("invoice able quarter", counts(3, 2, 1)),
        ("\u53d1\u7968\u53f7\u7801 able", counts(5, 4, 4)),
        ("\u53d1invoice\u7968", counts(3, 3, 3)),
        ("Rechnung f\u00fcr M\u00fcller", counts(3, 3, 3)),
    ],
)
def test_words_are_counted_against_a_closed_world(text: str, expected: Novelty):
    """Alphabet words and our own sentences are known, codes are no words, all else is novel."""
    assert novelty(words_of(text)) == expected


def test_every_sentence_of_ours_is_known():
    """An answer that repeats any of our wording says nothing foreign."""
    nouns = tuple(NOUNS[position] for position in NeedlePosition)
    text = "".join(
        (
            first_line(WORDS[:6]),
            *(needle_sentence(noun, WORDS[:3]) for noun in nouns),
            INSTRUCTION_LINE,
            closing_question(nouns),
            "Here are the final phrases: the harbour phrase is able acid acts.",
        )
    )
    assert novelty(words_of(text)).novel_words == 0
    assert novelty(words_of(text)).words > 60


NATURAL = textwrap.dedent(
    """
    Dear Mrs Hoffmann, thank you for your enquiry about the invoice from March. We have looked into the matter and
    found that the amount was charged twice because our payment provider sent the same notification again. The refund
    was issued this morning and should arrive within three working days. Please accept our apologies for the trouble.
    """
)


def test_a_customers_letter_is_mostly_novel():
    """Fifty words and more of ordinary English pass the closed-world threshold of 0.6 by far."""
    counted = novelty(words_of(NATURAL))
    assert counted.words >= 50
    assert counted.novel_words / counted.words > 0.7
    assert counted.longest_novel_run >= 9


@settings(max_examples=60, derandomize=True)
@given(words=st.lists(st.sampled_from(WORDS), max_size=60), separator=st.sampled_from([" ", ", ", "\n", "\n- ", " / "]))
def test_own_filler_is_never_novel(words: list[str], separator: str):
    """Echoed filler has no novel word, whatever separates its words."""
    assert novelty(words_of(separator.join(words))) == counts(len(words), 0, 0)


@settings(max_examples=100, derandomize=True)
@given(text=st.text(max_size=200))
def test_counts_are_consistent_for_any_text(text: str):
    """Any text is counted without an error: run <= novel <= words."""
    counted = novelty(words_of(text))
    assert 0 <= counted.longest_novel_run <= counted.novel_words <= counted.words
