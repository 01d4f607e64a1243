"""Corrupted answers."""

import pytest

from prober.detect.corruption import is_garbled, is_looping, is_plain_miss, is_salad
from prober.domain.options import Malformation, RequestOptions
from prober.domain.reading import Garble, Recall
from tests.support.evidence import ALL_MISSED, a_probe, a_reading, an_evidence, an_observation


@pytest.mark.parametrize(
    ("garble", "finish", "is_wrong"),
    [
        (Garble(scripts=3), "stop", True),
        (Garble(scripts=2), "stop", False),
        (Garble(replacements=1), "stop", True),
        (Garble(replacements=1), "length", False),
        (Garble(replacements=2), "length", True),
        (Garble(longest_loop=900), "stop", False),
    ],
)
def test_scripts_and_half_characters_are_salad(garble: Garble, finish: str, *, is_wrong: bool):
    """Three non-Latin scripts, or a broken character that the cut at the end does not explain."""
    evidence = an_evidence(reading=a_reading(garble=garble), observation=an_observation(finish_reason=finish))

    assert is_salad(evidence) is is_wrong


@pytest.mark.parametrize(
    ("recall", "loop", "is_wrong"),
    [(ALL_MISSED, 64, True), (ALL_MISSED, 63, False), (a_reading().recall, 900, False), (Recall(), 900, False)],
)
def test_only_a_loop_in_place_of_the_answer_counts(recall: Recall, loop: int, *, is_wrong: bool):
    """An LLM that does not stop after the right answer is honest."""
    evidence = an_evidence(reading=a_reading(recall=recall, garble=Garble(longest_loop=loop)))

    assert is_looping(evidence) is is_garbled(evidence) is is_wrong


@pytest.mark.parametrize(
    ("reading", "is_plain"),
    [
        ({"words": 24}, True),
        ({"words": 25}, False),
        ({"words": 9, "stray_words": 1}, False),
        ({"words": 9, "stray_words": 1, "novel_words": 3}, True),
        ({"words": 90, "is_refusal_like": True}, True),
        ({"words": 90, "garble": Garble(longest_loop=400)}, True),
    ],
)
def test_a_plain_miss_says_little_refuses_or_loops(reading: dict[str, object], *, is_plain: bool):
    """Who tells much and not what was asked for has read something else."""
    assert is_plain_miss(an_evidence(reading=a_reading(recall=ALL_MISSED, **reading))) is is_plain


@pytest.mark.parametrize(
    "options",
    [
        RequestOptions(choices=("amber lamp",)),
        RequestOptions(favoured_token=7),
        RequestOptions(malformation=Malformation.UNKNOWN_ROLE),
    ],
)
def test_what_we_asked_to_look_odd_is_not_corrupted(options: RequestOptions):
    """A favoured token repeats itself, and may read like anything."""
    garble = Garble(scripts=5, replacements=5, longest_loop=900)
    evidence = an_evidence(probe=a_probe(options=options), reading=a_reading(recall=ALL_MISSED, garble=garble))

    assert not is_garbled(evidence)
