"""Figures as people say them."""

import dataclasses

import pytest

from prober.domain.outcome import Outcome
from prober.domain.verdict import Spending
from prober.report.wording import MEANINGS, bound_words, certainty, count_words, counted, seconds_words, spending_words
from tests.support.reports import a_clean_report, a_report


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0.0, ""),
        (-1.0, ""),
        (16.0, "16.0 bits: chance explains it in at most one of 65,536 answers"),
        (20.0, "20.0 bits: chance explains it in at most one of 1 million answers"),
        (36.6, "36.6 bits: chance explains it in at most one of 104 billion answers"),
        (44.0, "44.0 bits: chance explains it in at most one of 18 trillion answers"),
        (117.0, "117.0 bits: chance explains it in less than one of a million trillion answers"),
    ],
)
def test_certainty_is_told_in_bits_and_in_words(bits: float, words: str):
    """A reader without statistics sees how sure an attribution is."""
    assert certainty(bits) == words


def test_counts_and_bounds():
    """One of a thing is singular, thousands are parted, and no bound is claimed where there is none."""
    clean = a_clean_report().verdict

    assert counted(1, "probe") == "1 probe"
    assert counted(1_024, "probe") == "1,024 probes"
    assert spending_words(Spending(requests=1, prompt_tokens=1_000)) == "1 request, 1,000 tokens"
    assert count_words(clean) == "30 probes, 30 conclusive, 30 clean"
    assert bound_words(clean) == "leak rate per probe below 9.51% with 95 % confidence"
    assert bound_words(a_report().verdict) == ""
    assert count_words(dataclasses.replace(clean, probes=1)) == "1 probe, 30 conclusive, 30 clean"


def test_seconds():
    """Three digits that tell; nothing where it is not known."""
    assert (seconds_words(None), seconds_words(0.1234), seconds_words(1_234.56)) == ("", "0.123 s", "1,234.6 s")


def test_every_outcome_has_a_meaning():
    """What could not be judged is said to be no clean result."""
    assert set(MEANINGS) == set(Outcome)
    assert "no clean result" in MEANINGS[Outcome.INCONCLUSIVE]
